"""Reads and lists of records, in spite of lagging replicas of the queue and foreign writes."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import nats
import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from apiserver.circuit_breaker import CircuitBreaker
from apiserver.clock import SystemClock
from apiserver.config import NATSConfig
from apiserver.nats.jetstream import JetStream
from apiserver.nats.port import StoredRecord
from apiserver.nats.records import JetStreamRecordStore
from apiserver.nats.replies import NOT_FOUND_STATUS, STATUS_HEADER
from apiserver.nats.requests import JetStreamRequests
from shared.invocation import transition
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationRequest
from tests.support.queue.invocation_api import connect_jetstream
from tests.support.queue.nats_server import new_nats_server

NAMES = QueueNames()
RECORD = transition.new_record(InvocationRequest(), "uid", "hash", 1)


class LaggingRequests(JetStreamRequests):
    """A JetStream client whose direct reads go to a replica that has no record yet."""

    async def request(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        response = await super().request(subject, payload, headers)
        if subject.startswith("$JS.API.DIRECT.GET."):
            response.headers, response.data = {STATUS_HEADER: NOT_FOUND_STATUS}, b""
        return response


@dataclass(frozen=True)
class RecordsFixture:
    """The queue in three views: the API's, a queue with lagging replicas, and raw write access."""

    jetstream: JetStream
    lagging: JetStreamRecordStore
    client: Client


@pytest.fixture
async def records(tmp_path: Path) -> AsyncIterator[RecordsFixture]:
    """Start a real queue without records."""
    async with (
        new_nats_server(tmp_path / "queue") as server,
        connect_jetstream(NATSConfig(url=server.admin_url)) as jetstream,
        await nats.connect(server.admin_url) as client,
    ):
        lagging_requests = LaggingRequests(jetstream.connection, CircuitBreaker(SystemClock()))
        yield RecordsFixture(jetstream, JetStreamRecordStore(lagging_requests, NAMES), client)


async def test_a_record_is_found_although_a_nats_replica_lags(records: RecordsFixture) -> None:
    revision = await records.jetstream.ports.records.put("echo.new", RECORD)
    assert await records.lagging.find("echo.new") == StoredRecord(RECORD, revision)


async def test_the_tombstone_of_a_deleted_record_is_found_although_a_nats_replica_lags(
    records: RecordsFixture,
) -> None:
    leader = records.jetstream.ports.records
    await leader.delete("echo.not", await leader.put("echo.not", RECORD))
    assert (
        await records.lagging.find("echo.not")
        == await leader.find("echo.not")
        == StoredRecord(None, 2)
    )


async def test_an_absent_record_is_not_found(records: RecordsFixture) -> None:
    assert await records.lagging.find("echo.none") is None


@pytest.mark.parametrize("request_id", ["echo", ""], ids=["one", "all"])
async def test_unreadable_records_are_omitted_from_lists(
    records: RecordsFixture, request_id: str
) -> None:
    queue, stream = records.jetstream.ports, records.client.jetstream()
    await queue.records.put("echo.first", RECORD)
    for number, value in enumerate((b"", b"garbage", b"{}")):
        await stream.publish(NAMES.record_subject(f"echo.odd-{number}"), value)
    await queue.records.put("echo.too.deep", RECORD)
    await queue.records.put("echo.last", RECORD)
    page = await queue.history.list_records(request_id, None, 100)
    assert [item.invocation_id for item in page.items] == ["last", "first"]
