"""Outcomes on the way to PostgreSQL: each arrives once, in spite of outages in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import nats
import pytest
from msgspec.structs import replace
from nats.aio.client import Client
from prometheus_client import CollectorRegistry

from controller.runtime.clock import SystemClock
from hack.cluster.nats_server import NATSServer
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import NATSCredentials
from serverless.nats.requests import JetStreamClient
from serverless.nats.stream_setup import ensure_stream
from serverless.resultstore.config import Config, NATSConfig
from serverless.resultstore.consumer import CONSUMER_NAME
from serverless.resultstore.main import serving
from serverless.resultstore.retention import Retention
from serverless.resultstore.store import OutcomeStore
from shared.config.address import Address
from shared.invocation.message import OutcomeMessage, encode_message, outcome_message_id
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationBody, InvocationResult
from shared.invocation.state import InvocationState
from shared.invocation.streams import StreamLimits, stream_configs
from tests.support.cluster.postgres import (
    NOT_READY_ERRORS,
    SKIP_REASON,
    PostgresServer,
    find_postgres_dir,
    new_postgres,
)
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

BINARIES = find_postgres_dir()
NAMES = QueueNames()
pytestmark = pytest.mark.skipif(BINARIES is None, reason=SKIP_REASON)


class ResultStoreFixture:
    """A queue, a database, and replicas of the result store between them."""

    def __init__(self, queue: NATSServer, client: Client, postgres: PostgresServer) -> None:
        self.client = client
        self.postgres = postgres
        self.dsn_file = Path(postgres.process.log_path).parent / "dsn"
        self.dsn_file.write_text(postgres.dsn)
        self._queue = queue

    def replica(self) -> AbstractAsyncContextManager[OutcomeStore]:
        """Run one process of the result store for the length of the block."""
        any_port = Address("127.0.0.1", 0)
        password_file = str(self._queue.password_file("result-store"))
        config = Config(
            probe_addr=any_port,
            metrics_addr=any_port,
            nats=NATSConfig(url=self._queue.url, user="result-store", password_file=password_file),
            dsn_file=str(self.dsn_file),
        )
        return serving(config, CollectorRegistry(), SystemClock())

    async def publish(self, *outcomes: OutcomeMessage, once: bool = True, by: str = "") -> None:
        """Publish outcomes as workers do.

        The subject is that of function `by`, or of the outcome's own function if `by` is empty.
        """
        jetstream = self.client.jetstream()
        for outcome in outcomes:
            headers = {"Nats-Msg-Id": outcome_message_id(outcome)} if once else None
            subject = NAMES.result_subject(by or outcome.function_name)
            await jetstream.publish(subject, encode_message(outcome), headers=headers)

    async def rows(self) -> list[dict[str, Any]]:
        connection = await asyncpg.connect(self.postgres.dsn, timeout=5)
        try:
            rows = await connection.fetch("SELECT * FROM outcomes ORDER BY invocation_id, run")
        finally:
            await connection.close()
        return [dict(row) for row in rows]

    async def wait_rows(self, *invocations: str) -> list[dict[str, Any]]:
        """Wait until the table has exactly these invocations; return the rows."""
        return await eventually(
            self.rows,
            lambda rows: [row["invocation_id"] for row in rows] == list(invocations),
            tolerate=NOT_READY_ERRORS,
        )

    async def is_empty(self) -> bool:
        """Return whether the queue has no outcome left for the result store."""
        info = await self.client.jetstream().consumer_info(NAMES.results_stream, CONSUMER_NAME)
        return not info.num_pending and not info.num_ack_pending


def an_outcome(invocation_id: str, **changes: Any) -> OutcomeMessage:
    outcome = OutcomeMessage(
        function_uid="uid",
        function_name="fn",
        invocation_id=invocation_id,
        run=1,
        state=InvocationState.SUCCEEDED,
        attempts=1,
        worker="fn-1",
        accepted_at=1_794_800_000_123,
        started_at=1_794_800_001_000,
        finished_at=1_794_800_002_000,
        result=InvocationResult(status_code=200, body=InvocationBody(inline=b"\0\xff", size=2)),
    )
    return replace(outcome, **changes)


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[ResultStoreFixture]:
    assert BINARIES is not None
    async with new_nats_server(tmp_path / "queue") as queue, new_postgres(BINARIES) as postgres:
        client = await nats.connect(queue.admin_url)
        await create_streams(queue)
        yield ResultStoreFixture(queue, client, postgres)
        await client.close()


async def create_streams(queue: NATSServer) -> None:
    """Create the streams as the activator does."""
    clock = SystemClock()
    connection = QueueConnection(lambda: NATSCredentials(queue.admin_url), "tests", clock)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(connection.run())
        await connection.synced()
        for config in stream_configs(NAMES, StreamLimits()):
            await ensure_stream(JetStreamClient(connection), config)
        task.cancel()


async def test_several_replicas_store_each_outcome_once_and_completely(
    stores: ResultStoreFixture,
) -> None:
    odd = an_outcome(
        "odd",
        started_at=0,
        state=InvocationState.FAILED,
        result=InvocationResult(error="a\0b", headers={"X": "\0"}, failure_class="framework_error"),
    )
    async with stores.replica(), stores.replica():
        await stores.publish(*(an_outcome(f"i{number:03}") for number in range(300)))
        await stores.publish(an_outcome("i000"), an_outcome("i001"), once=False)
        await stores.publish(odd, an_outcome("odd", run=2))
        await stores.client.jetstream().publish(NAMES.result_subject("fn"), b"no outcome")
        rows = await stores.wait_rows(*(f"i{number:03}" for number in range(300)), "odd", "odd")
        await eventually(stores.is_empty)
    assert (rows[0]["state"], rows[0]["run"], rows[0]["worker"]) == ("succeeded", 1, "fn-1")
    assert rows[0]["accepted_at"].isoformat() == "2026-11-16T03:33:20.123000+00:00"
    assert '"inline": "AP8="' in rows[0]["result"]
    assert rows[300]["started_at"] is None
    assert "a\N{REPLACEMENT CHARACTER}b" in rows[300]["result"]


async def test_a_function_cannot_change_the_outcomes_of_another_function(
    stores: ResultStoreFixture,
) -> None:
    async with stores.replica():
        await stores.publish(an_outcome("mine"))
        await stores.wait_rows("mine")
        forged = an_outcome("mine", state=InvocationState.FAILED)
        await stores.publish(forged, once=False, by="evil")
        await stores.publish(replace(forged, function_name="evil"), once=False)
        await stores.publish(an_outcome("next"))
        rows = await stores.wait_rows("mine", "next")
        await eventually(stores.is_empty)
    assert (rows[0]["state"], rows[0]["request_id"]) == ("succeeded", "fn")
    assert [row["state"] for row in await stores.rows()] == ["succeeded", "succeeded"]


async def test_no_outcome_is_lost_while_postgresql_or_the_result_store_is_down(
    stores: ResultStoreFixture,
) -> None:
    await stores.publish(an_outcome("a"))
    async with stores.replica() as store:
        await stores.wait_rows("a")
        await stores.postgres.process.kill()
        await stores.publish(an_outcome("b"))

        async def reasons() -> list[str]:
            return store.not_ready()

        await eventually(reasons)
        assert not await stores.is_empty()
        await stores.postgres.start()
        await stores.wait_rows("a", "b")
    await stores.publish(an_outcome("c"))
    async with stores.replica():
        await stores.wait_rows("a", "b", "c")
        await eventually(stores.is_empty)


async def test_old_outcomes_are_removed_and_newer_ones_survive_a_restart(
    stores: ResultStoreFixture,
) -> None:
    clock = SystemClock()
    now = int(clock.now().timestamp() * 1000)
    day = int(timedelta(days=1).total_seconds() * 1000)
    await stores.publish(
        an_outcome("new", finished_at=now), an_outcome("old", finished_at=now - day)
    )
    async with stores.replica():
        await stores.wait_rows("new", "old")
    async with stores.replica() as store:
        await store.synced()
        await Retention(store, 3600, clock).run_round()
        await stores.wait_rows("new")
