"""Where the pods of users may connect to, as rules of a NetworkPolicy."""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any, Final

from controller.non_empty import non_empty

_EVERYWHERE: Final = {4: "0.0.0.0/0", 6: "::/0"}


def dns() -> dict[str, Any]:
    """Names are looked up in the cluster, wherever its name server is."""
    ports = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    return {"to": [{"namespaceSelector": {}}], "ports": ports}


def public_addresses(private_ranges: Sequence[str]) -> dict[str, Any]:
    """Everything but the private ranges."""
    return {"to": [_public(version, private_ranges) for version in _EVERYWHERE]}


def _public(version: int, private_ranges: Sequence[str]) -> dict[str, Any]:
    private = [each for each in private_ranges if ip_network(each).version == version]
    return {"ipBlock": non_empty({"cidr": _EVERYWHERE[version], "except": private})}
