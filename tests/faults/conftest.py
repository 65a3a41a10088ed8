"""Fixtures of the fault tests: one queue that all of them share."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.cluster.nats_server import QueueServer
from tests.support.queue.nats_server import new_queue


@pytest.fixture(scope="session")
def queue_server(run_folder: Path) -> Iterator[QueueServer]:
    """A real NATS server; a test takes a function of its own there."""
    with asyncio.Runner() as runner:
        serving = new_queue(run_folder / "queue")
        yield runner.run(serving.__aenter__())
        runner.run(serving.__aexit__(None, None, None))
