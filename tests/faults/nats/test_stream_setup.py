"""Streams of an earlier version are updated to the present configuration."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import nats
import pytest
from nats.aio.client import Client

from apiserver.clock import SystemClock as ApiClock
from apiserver.config import NATSConfig
from apiserver.nats.jetstream import JetStream as ApiQueue
from controller.runtime.clock import SystemClock
from hack.cluster.nats_server import NATSServer
from serverless.activator.sweep.stream_repair import StreamSetup
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import NATSCredentials
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits, stream_configs
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

NAMES = QueueNames()
BUCKETS = (f"KV_{NAMES.record_bucket}", f"KV_{NAMES.worker_bucket}")
ANSWER_SECONDS = 30.0


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[NATSServer]:
    async with new_nats_server(tmp_path / "queue") as made:
        yield made


@pytest.fixture
async def admin(queue: NATSServer) -> AsyncIterator[Client]:
    client = await nats.connect(queue.admin_url)
    yield client
    await client.close()


async def by_the_api(queue: NATSServer) -> None:
    made = ApiQueue(NATSConfig(url=queue.admin_url), ApiClock(), lambda: "id")
    async with asyncio.TaskGroup() as group:
        keeping = [group.create_task(each.run()) for each in (made.connection, made.stream_setup)]
        await made.connection.wait_for_connect(0)
        await made.stream_setup.ensure_streams()
        for task in keeping:
            task.cancel()


async def by_the_activator(queue: NATSServer) -> None:
    clock = SystemClock()
    connection = QueueConnection(lambda: NATSCredentials(queue.admin_url), "tests", clock)
    made = StreamSetup(connection, stream_configs(NAMES, StreamLimits()), clock)
    async with asyncio.TaskGroup() as group:
        keeping = [group.create_task(each.run()) for each in (connection, made)]
        await made.synced()
        for task in keeping:
            task.cancel()


@pytest.mark.parametrize("ensured", [by_the_api, by_the_activator])
async def test_buckets_that_allowed_roll_ups_do_so_no_longer(
    queue: NATSServer, admin: Client, ensured: object
) -> None:
    assert callable(ensured)
    for wire in stream_configs(NAMES, StreamLimits()):
        earlier = wire | {"allow_rollup_hdrs": True} if wire["name"] in BUCKETS else wire
        subject = f"$JS.API.STREAM.CREATE.{wire['name']}"
        await admin.request(subject, msgspec.json.encode(earlier), timeout=ANSWER_SECONDS)
    assert await are_allowed(admin)

    await ensured(queue)

    await eventually(lambda: are_allowed(admin), lambda allowed: not allowed)


async def are_allowed(admin: Client) -> list[str]:
    """Return the buckets in which one message may replace others (roll-up)."""
    infos = await admin.jetstream(timeout=ANSWER_SECONDS).streams_info()
    return [each.config.name or "" for each in infos if each.config.allow_rollup_hdrs]
