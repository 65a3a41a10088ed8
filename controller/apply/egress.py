"""Where the pods of users may connect to, as rules of a NetworkPolicy."""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any, Final

from controller.apply.drop_empty import non_empty

# NodeLocal DNSCache, as Kubernetes and as kubespray install it: no selector finds it.
_NODE_LOCAL: Final = ("169.254.20.10/32", "169.254.25.10/32")
_EVERYWHERE: Final = {4: "0.0.0.0/0", 6: "::/0"}


def dns() -> dict[str, Any]:
    """Names are looked up in the cluster, at a name server in a pod or on the node."""
    ports = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    on_node = [{"ipBlock": {"cidr": each}} for each in _NODE_LOCAL]
    return {"to": [{"namespaceSelector": {}}, *on_node], "ports": ports}


def public_addresses(private_ranges: Sequence[str]) -> dict[str, Any]:
    """Everything but the private ranges."""
    return {"to": [_public(version, private_ranges) for version in _EVERYWHERE]}


def _public(version: int, private_ranges: Sequence[str]) -> dict[str, Any]:
    private = [each for each in private_ranges if ip_network(each).version == version]
    return {"ipBlock": non_empty({"cidr": _EVERYWHERE[version], "except": private})}
