"""The NetworkPolicy of a unit: whom it may talk with."""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any, Final

from controller.gpuunit.labels import child_metadata, selector
from controller.gpuunit.non_empty import non_empty
from controller.gpuunit.ports import ports
from controller.gpuunit.settings import UnitSettings
from controller.runtime.kind import key_of
from shared import names
from shared.v1alpha1.gpuunit import GPUUnit

_EVERYWHERE: Final = {4: "0.0.0.0/0", 6: "::/0"}
_IN_THE_CLUSTER: Final[dict[str, Any]] = {"namespaceSelector": {}}
_DNS: Final = ({"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53})


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
    dns = {"to": [dict(_IN_THE_CLUSTER)], "ports": [dict(port) for port in _DNS]}
    public = {"to": [_public(version, private_ranges) for version in _EVERYWHERE]}
    ingress = [{"ports": declared}] if declared else []  # a rule without ports allows them all
    return non_empty({"ingress": ingress, "egress": [dns, public]})


def _public(version: int, private_ranges: Sequence[str]) -> dict[str, Any]:
    private = [each for each in private_ranges if ip_network(each).version == version]
    return {"ipBlock": non_empty({"cidr": _EVERYWHERE[version], "except": private})}
