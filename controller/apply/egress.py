"""NetworkPolicy egress rules of user pods."""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any, Final

from controller.apply.drop_empty import drop_empty

# Address of NodeLocal DNSCache as Kubernetes and kubespray install it. No selector matches it.
_NODE_LOCAL_DNS: Final = ("169.254.20.10/32", "169.254.25.10/32")
_ALL_ADDRESSES: Final = {4: "0.0.0.0/0", 6: "::/0"}


def dns_egress_rule() -> dict[str, Any]:
    """Allow DNS to the name servers of the cluster, in a pod or on the node."""
    ports = [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]
    on_node = [{"ipBlock": {"cidr": cidr}} for cidr in _NODE_LOCAL_DNS]
    return {"to": [{"namespaceSelector": {}}, *on_node], "ports": ports}


def public_egress_rule(private_ranges: Sequence[str]) -> dict[str, Any]:
    """Allow all addresses except the private ranges."""
    return {"to": [_public_ip_peer(version, private_ranges) for version in _ALL_ADDRESSES]}


def _public_ip_peer(ip_version: int, private_ranges: Sequence[str]) -> dict[str, Any]:
    private = [cidr for cidr in private_ranges if ip_network(cidr).version == ip_version]
    return {"ipBlock": drop_empty({"cidr": _ALL_ADDRESSES[ip_version], "except": private})}
