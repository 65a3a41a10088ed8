"""Records are found and listed whatever a replica of the queue or a stranger makes of them."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from apiserver.circuit_breaker import Breaker
from apiserver.clock import SystemClock
from apiserver.config import NATSConfig
from apiserver.nats.jetstream import JetStream
from apiserver.nats.port import Kept
from apiserver.nats.records import NOT_FOUND, STATUS, RecordBucket
from apiserver.nats.requests import Caller
from shared.invocation import transition
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import Request
from tests.support.queue.invocation_api import connected
from tests.support.queue.nats_server import new_queue

NAMES = QueueNames()
RECORD = transition.accepted(Request(), "uid", "hash", 1)


class BehindCaller(Caller):
    """Asks a queue whose direct reads are answered by a replica that has no record yet."""

    async def ask(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        answer = await super().ask(subject, payload, headers)
        if subject.startswith("$JS.API.DIRECT.GET."):
            answer.headers, answer.data = {STATUS: NOT_FOUND}, b""
        return answer


@dataclass(frozen=True)
class Scene:
    """The queue as the API has it, as one with replicas would be, and as anybody may write it."""

    jetstream: JetStream
    behind: RecordBucket
    client: Client


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """A real queue without records."""
    async with (
        new_queue(tmp_path / "queue") as server,
        connected(NATSConfig(url=server.admin_url)) as jetstream,
        await nats.connect(server.admin_url) as client,
    ):
        caller = BehindCaller(jetstream.connection, Breaker(SystemClock()))
        yield Scene(jetstream, RecordBucket(caller, NAMES), client)


async def test_a_record_is_found_that_a_replica_does_not_have_yet(scene: Scene) -> None:
    revision = await scene.jetstream.queue.records.write("echo.new", RECORD)
    assert await scene.behind.find("echo.new") == Kept(RECORD, revision)


async def test_the_mark_of_one_taken_back_is_found_as_well(scene: Scene) -> None:
    records = scene.jetstream.queue.records
    await records.take_back("echo.not", await records.write("echo.not", RECORD))
    assert await scene.behind.find("echo.not") == await records.find("echo.not") == Kept(None, 2)


async def test_what_nobody_has_is_not_found(scene: Scene) -> None:
    assert await scene.behind.find("echo.none") is None


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
