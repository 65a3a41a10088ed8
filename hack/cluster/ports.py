"""Ports on the loopback address."""

import random
import socket
from collections.abc import Iterable

HOST = "127.0.0.1"
# Below the range from which the kernel takes the ports of outgoing connections.
CHOICES = range(20000, 30000)


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(randomness: random.Random, taken: Iterable[int] = ()) -> int:
    """A port that nobody listens on and that is not in `taken`."""
    for port in randomness.sample(CHOICES, len(CHOICES)):
        if port not in taken and is_free(port):
            return port
    raise OSError("no free port on the loopback address")
