"""Fixtures of the fault tests: one queue that all of them share."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster.nats_server import NATSServer
from tests.support.queue.nats_server import new_nats_server


@pytest.fixture(scope="session")
def nats_server(run_dir: Path) -> Iterator[NATSServer]:
    """Start a real NATS server; each test creates its own function there."""
    with asyncio.Runner() as runner:
        serving = new_nats_server(run_dir / "queue")
        yield runner.run(serving.__aenter__())
        runner.run(serving.__aexit__(None, None, None))
