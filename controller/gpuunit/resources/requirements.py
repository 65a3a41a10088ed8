"""What a unit takes, and of which nodes."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from controller.apply.drop_empty import drop_empty
from shared.k8s.quantity import NANOS_PER_UNIT, Quantity
from shared.v1alpha1.unit_resources import UnitResources

_MILLI: Final = NANOS_PER_UNIT // 1000


def container_resources(unit_resources: UnitResources) -> dict[str, Any]:
    """Requests equal limits: what a unit has, nobody else gets."""
    amounts = {"cpu": unit_resources.cpu, "memory": unit_resources.memory}
    if unit_resources.gpu:
        amounts[unit_resources.gpu_resource] = str(unit_resources.gpu)
    return guaranteed_resources({name: text for name, text in amounts.items() if text})


def guaranteed_resources(amounts: Mapping[str, str]) -> dict[str, Any]:
    """Amounts as requests and as limits, written as the API server stores them."""
    stored = {name: str(_rounded_up_to_milli(text)) for name, text in amounts.items()}
    return {"requests": stored, "limits": dict(stored)}


def node_constraints(unit_resources: UnitResources) -> dict[str, Any]:
    """The fields of a pod that say which nodes may take it."""
    return drop_empty(
        {
            "nodeSelector": dict(unit_resources.node_selector),
            "tolerations": [msgspec.to_builtins(each) for each in unit_resources.tolerations],
        }
    )


def preferred_node_affinity(node_name: str) -> dict[str, Any]:
    """The affinity that tries one node first; none where there is no node to prefer."""
    if not node_name:
        return {}
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    term = {"weight": 100, "preference": {"matchFields": [field]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def _rounded_up_to_milli(text: str) -> Quantity:
    """The API server rounds the resources of a container up to thousandths."""
    return Quantity(-(-Quantity.parse(text).nanos // _MILLI) * _MILLI)
