"""Fixtures of the worker's fault tests."""

from collections.abc import AsyncIterator

import pytest

from hack.cluster.nats_server import NATSServer
from tests.support.queue.function_harness import (
    LONG_ACK_WAIT_SECONDS,
    FunctionHarness,
    new_function_harness,
)


@pytest.fixture
async def harness(nats_server: NATSServer) -> AsyncIterator[FunctionHarness]:
    """Create a function on the shared queue, with an ack wait that no slow machine exceeds."""
    async with new_function_harness(nats_server, ack_wait=LONG_ACK_WAIT_SECONDS) as harness:
        yield harness
