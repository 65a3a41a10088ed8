"""Ports on the loopback address."""

import os
import random
import re
import socket
from collections import deque
from typing import Final

from hack.cluster.errors import ClusterError

HOST: Final = "127.0.0.1"
# Below the range from which the kernel takes the ports of outgoing connections, and below the
# blocks that tests take.
DEFAULT_PORT_RANGE: Final = range(10000, 12000)
# The first ports of a given range are for servers that have one of their own by name.
NAMED_PORT_COUNT: Final = 20
# A range such as 9000-9199 to take all ports from: two systems keep out of each other's way.
PORT_RANGE_VARIABLE: Final = "GPU_RUNTIME_PORTS"


def configured_range() -> range | None:
    """The range of ports that the environment names; None without one."""
    text = os.environ.get(PORT_RANGE_VARIABLE)
    if not text:
        return None
    found = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text)
    ports = range(int(found[1]), int(found[2]) + 1) if found else range(0)
    if len(ports) <= NAMED_PORT_COUNT or ports[0] < 1 or ports[-1] > 65535:
        raise ClusterError(
            f"{PORT_RANGE_VARIABLE}={text} is not a range of more than {NAMED_PORT_COUNT} ports, "
            "such as 9000-9199"
        )
    return ports


def is_port_free(port: int) -> bool:
    """Whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


class FreePorts:
    """Hands out free ports; one that was given away comes again only after all others.

    From the choice of a port until its server listens it looks free to every process.
    """

    def __init__(self, randomness: random.Random) -> None:
        given = configured_range()
        choices = given[NAMED_PORT_COUNT:] if given else DEFAULT_PORT_RANGE
        self._choices = deque(randomness.sample(choices, len(choices)))

    def take(self) -> int:
        """A port on which no server listens; raises ClusterError when there is none."""
        for _ in range(len(self._choices)):
            self._choices.rotate()
            if is_port_free(self._choices[0]):
                return self._choices[0]
        raise ClusterError(f"all ports from {min(self._choices)} to {max(self._choices)} are taken")
