"""The NetworkPolicy of a unit: whom it may talk with."""

from collections.abc import Sequence
from typing import Any

from controller.egress import dns, public_addresses
from controller.gpuunit.labels import child_metadata, selector
from controller.gpuunit.ports import ports
from controller.gpuunit.settings import UnitSettings
from controller.non_empty import non_empty
from controller.runtime.kind import key_of
from shared import names
from shared.v1alpha1.gpuunit import GPUUnit


def network_policy(unit: GPUUnit, settings: UnitSettings) -> dict[str, Any]:
    """Nothing in or out for stock; declared ports in, DNS and public addresses out for others."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    rules = {} if is_stock else _active_rules(unit, settings.private_ranges)
    return {
        "metadata": child_metadata(unit, names.egress(unit.metadata.name)),
        "spec": {
            "podSelector": {"matchLabels": selector(unit)},
            "policyTypes": ["Ingress", "Egress"],
            **rules,
        },
    }


def _active_rules(unit: GPUUnit, private_ranges: Sequence[str]) -> dict[str, Any]:
    declared = [{"protocol": port.protocol, "port": port.port} for port in ports(unit)]
    ingress = [{"ports": declared}] if declared else []  # a rule without ports allows them all
    return non_empty({"ingress": ingress, "egress": [dns(), public_addresses(private_ranges)]})
