"""Every way in which a framework answers, or does not, gives one recorded outcome."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hack.cluster.queue import QueueServer
from shared.invocation.record import Body
from tests.support.eventually import eventually
from tests.support.function_world import FunctionWorld, new_world
from tests.support.queue_server import new_queue
from tests.support.recording_framework import recording
from tests.support.worker_life import a_worker


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[QueueServer]:
    async with new_queue(tmp_path) as queue:
        yield queue


async def test_x(server: QueueServer) -> None:
    async with new_world(server) as world, recording(world.executions) as (framework, socket):
        await world.submit("one")
        await world.submit("two", attributes={"failAttempts": 1})
        await world.submit("three", attributes={"fail": "so"})
        await world.submit("four", attributes={"failAttempts": 9})
        await world.submit(
            "big",
            body=await world.large_body("b", b"y" * 5_000_000),
            attributes={"answerBytes": 5_000_000},
        )
        async with a_worker(server.admin_url, world.request_id, socket) as w:
            seen = await world.over()
        for k, v in seen.versions.items():
            print(k, [(x.record.state, x.record.attempts) for x in v], v[-1].record.result)
