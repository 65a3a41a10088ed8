"""Ports for servers of tests, which no other test process of this machine takes.

A test process has a block of ports for as long as it listens on the first port of the block. The
blocks are between the ports of `make up` and those of outgoing connections.
"""

import fcntl
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.cluster.ports import HOST, is_port_free

PORT_COUNTER_VARIABLE: Final = "GPU_RUNTIME_TEST_PORTS"
BLOCK_SIZE: Final = 1000
BLOCK_STARTS: Final = range(12000, 32000, BLOCK_SIZE)


@dataclass(frozen=True)
class PortBlock:
    """The ports from `first` on, reserved until this process ends or closes the block."""

    first: int
    guard: socket.socket

    def close(self) -> None:
        """Release the block."""
        self.guard.close()


def take_block() -> PortBlock:
    """Reserve a block that no other process has; raises OSError if all are in use."""
    for first in BLOCK_STARTS:
        guard = socket.socket()
        try:
            guard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            guard.bind((HOST, first))
            guard.listen()
        except OSError:
            guard.close()
        else:
            return PortBlock(first, guard)
    raise OSError(
        f"all {len(BLOCK_STARTS)} blocks of ports for tests are in use by other test runs"
    )


def start_counter(file: Path, ports: range) -> None:
    """Let this process and its children use the ports of `ports` in turn."""
    write_counter(file, ports, 0)
    os.environ[PORT_COUNTER_VARIABLE] = str(file)


def new_port() -> int:
    """Return a free port; it is returned again only after all others of the block."""
    return new_ports(1)[0]


def new_ports(count: int) -> range:
    """Return `count` consecutive free ports."""
    file = Path(os.environ[PORT_COUNTER_VARIABLE])
    with file.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first, last, offset = map(int, file.read_text().split())
        ports = range(first, last + 1)
        free_ports = next_free_ports(ports, offset, count)
        write_counter(file, ports, free_ports[-1] + 1 - first)
    return free_ports


def next_free_ports(ports: range, offset: int, count: int) -> range:
    """Return the next `count` consecutive free ports from `offset` on, or from the start."""
    starts = range(len(ports) - count + 1)
    for start in (*starts[offset:], *starts[:offset]):
        candidates = ports[start : start + count]
        if all(map(is_port_free, candidates)):
            return candidates
    raise OSError(f"no {count} free ports between {ports[0]} and {ports[-1]}")


def write_counter(file: Path, ports: range, offset: int) -> None:
    file.write_text(f"{ports[0]} {ports[-1]} {offset}")
