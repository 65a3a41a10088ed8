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
REPLY_TIMEOUT_SECONDS = 30.0


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[NATSServer]:
    async with new_nats_server(tmp_path / "queue") as server:
        yield server


@pytest.fixture
async def admin(queue: NATSServer) -> AsyncIterator[Client]:
    client = await nats.connect(queue.admin_url)
    yield client
    await client.close()


async def ensure_by_api(queue: NATSServer) -> None:
    jetstream = ApiQueue(NATSConfig(url=queue.admin_url), ApiClock(), lambda: "id")
    async with asyncio.TaskGroup() as group:
        runnables = (jetstream.connection, jetstream.stream_setup)
        tasks = [group.create_task(runnable.run()) for runnable in runnables]
        await jetstream.connection.wait_for_connect(0)
        await jetstream.stream_setup.ensure_streams()
        for task in tasks:
            task.cancel()


async def ensure_by_activator(queue: NATSServer) -> None:
    clock = SystemClock()
    connection = QueueConnection(lambda: NATSCredentials(queue.admin_url), "tests", clock)
    stream_setup = StreamSetup(connection, stream_configs(NAMES, StreamLimits()), clock)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runnable.run()) for runnable in (connection, stream_setup)]
        await stream_setup.synced()
        for task in tasks:
            task.cancel()


@pytest.mark.parametrize("ensure", [ensure_by_api, ensure_by_activator])
async def test_buckets_that_allow_roll_ups_are_updated_to_deny_them(
    queue: NATSServer, admin: Client, ensure: object
) -> None:
    assert callable(ensure)
    for config in stream_configs(NAMES, StreamLimits()):
        earlier = config | {"allow_rollup_hdrs": True} if config["name"] in BUCKETS else config
        subject = f"$JS.API.STREAM.CREATE.{config['name']}"
        await admin.request(subject, msgspec.json.encode(earlier), timeout=REPLY_TIMEOUT_SECONDS)
    assert await buckets_with_roll_ups(admin)

    await ensure(queue)

    await eventually(lambda: buckets_with_roll_ups(admin), lambda buckets: not buckets)


async def buckets_with_roll_ups(admin: Client) -> list[str]:
    """Return the buckets in which one message may replace others (roll-up)."""
    infos = await admin.jetstream(timeout=REPLY_TIMEOUT_SECONDS).streams_info()
    return [info.config.name or "" for info in infos if info.config.allow_rollup_hdrs]
