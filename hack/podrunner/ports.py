"""Ports of pods: all pods share the loopback address, so each port is another one here."""

import random
import re
from collections.abc import Iterable, Mapping
from typing import Final

from hack.cluster.ports import HOST, free_port
from hack.podrunner.pod import Container

_LISTENING: Final = re.compile(r"(?:0\.0\.0\.0|\[::\])?:(\d+)")


def chosen(containers: Iterable[Container], randomness: random.Random) -> dict[int | str, int]:
    """A free port for each that the containers declare."""
    ports: dict[int | str, int] = {}
    for container in containers:
        for port in container.ports:
            ports[port.container_port] = free_port(randomness, ports.values())
    return ports


def mapped(value: str, ports: Mapping[int | str, int]) -> str:
    """`value`, unless it says to listen everywhere on a port of the pod."""
    found = _LISTENING.fullmatch(value)
    if found is None or int(found[1]) not in ports:
        return value
    return f"{HOST}:{ports[int(found[1])]}"
