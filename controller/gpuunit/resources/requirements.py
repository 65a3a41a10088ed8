"""Resources of a unit's containers, and the constraints on the node of its pod."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from controller.apply.drop_empty import drop_empty
from shared.k8s.quantity import NANOS_PER_UNIT, Quantity
from shared.v1alpha1.unit_resources import UnitResources

_MILLI: Final = NANOS_PER_UNIT // 1000


def container_resources(unit_resources: UnitResources) -> dict[str, Any]:
    """Build the resources of the unit's container, with equal requests and limits."""
    amounts = {"cpu": unit_resources.cpu, "memory": unit_resources.memory}
    if unit_resources.gpu:
        amounts[unit_resources.gpu_resource] = str(unit_resources.gpu)
    return guaranteed_resources({name: text for name, text in amounts.items() if text})


def guaranteed_resources(amounts: Mapping[str, str]) -> dict[str, Any]:
    """Return the amounts as requests and limits, in the notation of the API server."""
    rounded = {name: str(_rounded_up_to_milli(text)) for name, text in amounts.items()}
    return {"requests": rounded, "limits": dict(rounded)}


def node_constraints(unit_resources: UnitResources) -> dict[str, Any]:
    """Return the node selector and the tolerations of a pod, without empty ones."""
    return drop_empty(
        {
            "nodeSelector": dict(unit_resources.node_selector),
            "tolerations": [msgspec.to_builtins(item) for item in unit_resources.tolerations],
        }
    )


def preferred_node_affinity(node_name: str) -> dict[str, Any]:
    """Return the affinity that prefers one node; empty without a node name."""
    if not node_name:
        return {}
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    term = {"weight": 100, "preference": {"matchFields": [field]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def _rounded_up_to_milli(text: str) -> Quantity:
    """Round up to thousandths, as the API server does with the resources of a container."""
    return Quantity(-(-Quantity.parse(text).nanos // _MILLI) * _MILLI)
