"""A real NATS server for tests, with the shipped users and permissions."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from hack.cluster.nats_server import PORT_NAMES, NATSServer
from tests.runner.ports import new_port


@asynccontextmanager
async def new_nats_server(state_dir: Path) -> AsyncIterator[NATSServer]:
    """Run a server in `state_dir` for the length of the block."""
    server = NATSServer(state_dir, {name: new_port() for name in PORT_NAMES})
    server.process.start()
    try:
        await server.wait_ready()
        yield server
    finally:
        await server.process.stop()
