"""A real NATS server for tests, with the shipped users and permissions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.cluster.nats_server import PORT_NAMES, NATSServer
from tests.runner.ports import new_port


@asynccontextmanager
async def new_nats_server(state_dir: Path) -> AsyncIterator[NATSServer]:
    """A server in `home` for the length of the block."""
    queue = NATSServer(state_dir, {name: new_port() for name in PORT_NAMES})
    queue.process.start()
    try:
        await queue.wait_ready()
        yield queue
    finally:
        await queue.process.stop()
