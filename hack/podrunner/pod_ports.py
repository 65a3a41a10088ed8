"""Local ports of pods: all pods share the loopback address, so each port is mapped."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hack.cluster.ports import HOST, FreePorts
from hack.podrunner.pod import Container

_LISTEN_ADDRESS: Final = re.compile(r"(?:0\.0\.0\.0|\[::\])?:(\d+)")


def allocate_ports(containers: Iterable[Container], free_ports: FreePorts) -> dict[int | str, int]:
    """Allocate a free port for each port that the containers declare."""
    declared = (port.container_port for container in containers for port in container.ports)
    return {port: free_ports.take() for port in declared}


def map_listen_address(value: str, port_map: Mapping[int | str, int]) -> str:
    """Return the local address of a pod's wildcard listen address; any other value is unchanged."""
    match = _LISTEN_ADDRESS.fullmatch(value)
    if match is None or int(match[1]) not in port_map:
        return value
    return f"{HOST}:{port_map[int(match[1])]}"
