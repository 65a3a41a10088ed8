"""Ports of pods: all pods share the loopback address, so each port is another one here."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hack.cluster.ports import HOST, FreePorts
from hack.podrunner.pod import Container

_LISTEN_ADDRESS: Final = re.compile(r"(?:0\.0\.0\.0|\[::\])?:(\d+)")


def allocate_ports(containers: Iterable[Container], free_ports: FreePorts) -> dict[int | str, int]:
    """A free port for each that the containers declare."""
    declared = (port.container_port for container in containers for port in container.ports)
    return {port: free_ports.take() for port in declared}


def map_listen_address(value: str, port_map: Mapping[int | str, int]) -> str:
    """`value`, unless it says to listen everywhere on a port of the pod."""
    found = _LISTEN_ADDRESS.fullmatch(value)
    if found is None or int(found[1]) not in port_map:
        return value
    return f"{HOST}:{port_map[int(found[1])]}"
