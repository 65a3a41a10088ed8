"""Records are listed whatever a stranger puts beside them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client

from apiserver.config import NATSConfig
from apiserver.jetstream.gateway import JetStream
from shared.invocation import transition
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import Request
from tests.support.ingress import connected
from tests.support.queue_server import new_queue

NAMES = QueueNames()
RECORD = transition.accepted(Request(), "uid", "hash", 1)


@dataclass(frozen=True)
class Scene:
    """The queue as the API has it, and as anybody may write it."""

    jetstream: JetStream
    client: Client


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """A real queue without records."""
    async with (
        new_queue(tmp_path / "queue") as server,
        connected(NATSConfig(url=server.admin_url)) as jetstream,
        await nats.connect(server.admin_url) as client,
    ):
        yield Scene(jetstream, client)


@pytest.mark.parametrize("request_id", ["echo", ""], ids=["one", "all"])
async def test_what_is_no_record_is_left_out_of_the_lists(scene: Scene, request_id: str) -> None:
    queue, stream = scene.jetstream.queue, scene.client.jetstream()
    await queue.records.write("echo.first", RECORD)
    for number, value in enumerate((b"", b"garbage", b"{}")):
        await stream.publish(NAMES.record_subject(f"echo.odd-{number}"), value)
    await queue.records.write("echo.too.deep", RECORD)
    await queue.records.write("echo.last", RECORD)
    found = await queue.history.records(request_id, None, 100)
    assert [each.invocation_id for each in found.items] == ["last", "first"]
