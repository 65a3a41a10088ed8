"""Free ports on the loopback address."""

import os
import random
import re
import socket
from collections import deque
from typing import Final

from hack.cluster.errors import ClusterError

HOST: Final = "127.0.0.1"
# Below the kernel's range for outgoing connections, and below the blocks of tests.
DEFAULT_PORT_RANGE: Final = range(10000, 12000)
# The first ports of a configured range are for servers with a preferred port.
NAMED_PORT_COUNT: Final = 20
# A range for all ports, such as 9000-9199, so that two systems can run side by side.
PORT_RANGE_VARIABLE: Final = "GPU_RUNTIME_PORTS"


def configured_range() -> range | None:
    """Return the range of ports in the environment, or None if there is none."""
    text = os.environ.get(PORT_RANGE_VARIABLE)
    if not text:
        return None
    match = re.fullmatch(r"(\d{1,5})-(\d{1,5})", text)
    ports = range(int(match[1]), int(match[2]) + 1) if match else range(0)
    if len(ports) <= NAMED_PORT_COUNT or ports[0] < 1 or ports[-1] > 65535:
        raise ClusterError(
            f"{PORT_RANGE_VARIABLE}={text} is not a range of more than {NAMED_PORT_COUNT} ports, "
            "such as 9000-9199"
        )
    return ports


def is_port_free(port: int) -> bool:
    """Return whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


class FreePorts:
    """A supply of free ports; each port is returned again only after all others.

    Between the choice of a port and the start of its server, other processes see it as free.
    """

    def __init__(self, randomness: random.Random) -> None:
        configured = configured_range()
        choices = configured[NAMED_PORT_COUNT:] if configured else DEFAULT_PORT_RANGE
        self._choices = deque(randomness.sample(choices, len(choices)))

    def take(self) -> int:
        """Return a port without a server; raise ClusterError if there is none."""
        for _ in range(len(self._choices)):
            self._choices.rotate()
            if is_port_free(self._choices[0]):
                return self._choices[0]
        raise ClusterError(
            f"all ports from {min(self._choices)} to {max(self._choices)} are in use"
        )
