"""A real NATS server for tests, with the shipped users and permissions."""

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.cluster.ports import free_port
from hack.cluster.queue import PORTS, QueueServer


@asynccontextmanager
async def new_queue(home: Path) -> AsyncIterator[QueueServer]:
    """A server in `home` for the length of the block."""
    randomness, ports = random.Random(), dict[str, int]()
    for name in PORTS:
        ports[name] = free_port(randomness, ports.values())
    queue = QueueServer(home, ports)
    queue.process.start()
    try:
        await queue.ready()
        yield queue
    finally:
        await queue.process.stop()
