"""Ports of pods: all pods share the loopback address, so each port is another one here."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hack.cluster.ports import HOST, FreePorts
from hack.podrunner.pod import Container

_LISTENING: Final = re.compile(r"(?:0\.0\.0\.0|\[::\])?:(\d+)")


def chosen(containers: Iterable[Container], free: FreePorts) -> dict[int | str, int]:
    """A free port for each that the containers declare."""
    declared = (port.container_port for container in containers for port in container.ports)
    return {port: free.take() for port in declared}


def mapped(value: str, ports: Mapping[int | str, int]) -> str:
    """`value`, unless it says to listen everywhere on a port of the pod."""
    found = _LISTENING.fullmatch(value)
    if found is None or int(found[1]) not in ports:
        return value
    return f"{HOST}:{ports[int(found[1])]}"
