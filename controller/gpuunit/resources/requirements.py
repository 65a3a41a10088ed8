"""What a unit takes, and of which nodes."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from controller.apply.drop_empty import non_empty
from shared.k8s.quantity import NANOS, Quantity
from shared.v1alpha1.unit_resources import Envelope

_MILLI: Final = NANOS // 1000


def resources(envelope: Envelope) -> dict[str, Any]:
    """Requests equal limits: what a unit has, nobody else gets."""
    amounts = {"cpu": envelope.cpu, "memory": envelope.memory}
    if envelope.gpu:
        amounts[envelope.gpu_resource] = str(envelope.gpu)
    return guaranteed({name: text for name, text in amounts.items() if text})


def guaranteed(amounts: Mapping[str, str]) -> dict[str, Any]:
    """Amounts as requests and as limits, written as the API server stores them."""
    stored = {name: str(_as_stored(text)) for name, text in amounts.items()}
    return {"requests": stored, "limits": dict(stored)}


def node_choice(envelope: Envelope) -> dict[str, Any]:
    """The fields of a pod that say which nodes may take it."""
    return non_empty(
        {
            "nodeSelector": dict(envelope.node_selector),
            "tolerations": [msgspec.to_builtins(each) for each in envelope.tolerations],
        }
    )


def preference_for(node: str) -> dict[str, Any]:
    """The affinity that tries one node first; none where there is no node to prefer."""
    if not node:
        return {}
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    term = {"weight": 100, "preference": {"matchFields": [field]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def _as_stored(text: str) -> Quantity:
    """The API server rounds the resources of a container up to thousandths."""
    return Quantity(-(-Quantity.parse(text).nanos // _MILLI) * _MILLI)
