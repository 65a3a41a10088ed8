"""A real NATS server for tests, with the shipped users and permissions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.cluster.nats_server import PORTS, QueueServer
from tests.runner.ports import new_port


@asynccontextmanager
async def new_queue(home: Path) -> AsyncIterator[QueueServer]:
    """A server in `home` for the length of the block."""
    queue = QueueServer(home, {name: new_port() for name in PORTS})
    queue.process.start()
    try:
        await queue.ready()
        yield queue
    finally:
        await queue.process.stop()
