"""The API while its queue is down, restarted, full or unreachable."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import nats
import pytest

from apiserver.config import NATSConfig
from apiserver.http.paths import FUNCTIONS, INVOCATIONS, function_path, invocation_path
from apiserver.nats.errors import QueueError
from apiserver.nats.port import QueuePorts
from hack.cluster.nats_server import NATSServer
from shared.invocation.queue_names import record_key
from shared.invocation.streams import StreamLimits
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.running_product import run_api
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.queue.invocation_api import (
    connect_jetstream,
    nats_settings,
    wait_queue_connected,
)
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually

NAME = "echo"
LIMITS = StreamLimits(max_queued_messages=40)


@dataclass(frozen=True)
class OutageFixture:
    """An API that reaches its queue through a proxy."""

    api: ApiClient
    server: NATSServer
    proxy: TCPProxy
    queue: QueuePorts

    async def invoke(self, invocation_id: str) -> ApiResponse:
        body = {"serverlessRequestID": NAME, "invocationID": invocation_id, "payload": 1}
        return await self.api.post(INVOCATIONS, body)

    async def has_record(self, invocation_id: str) -> bool:
        stored = await self.queue.records.find(record_key(NAME, invocation_id))
        return stored is not None and stored.record is not None


@pytest.fixture
async def outage(
    installation: IsolatedInstallation, tmp_path: Path
) -> AsyncIterator[OutageFixture]:
    """Create one function on an API process of its own."""
    async with new_nats_server(tmp_path / "queue") as server:
        target = urlsplit(server.url)
        proxy = TCPProxy(target.hostname or "", target.port or 0)
        async with proxy.serve():
            connection = nats_settings(server, f"nats://127.0.0.1:{proxy.port}")
            settings = {**connection, "limits": {"maxQueuedMessages": LIMITS.max_queued_messages}}
            async with (
                run_api(installation, tmp_path / "api", nats=settings) as product,
                connect_jetstream(NATSConfig(url=server.admin_url, limits=LIMITS)) as jetstream,
            ):
                api = ApiClient(product.url)
                await wait_queue_connected(api)
                function_request = {
                    "operationID": "1",
                    "name": NAME,
                    "specName": "g1.1",
                    "image": "a",
                }
                assert (await api.post(FUNCTIONS, function_request)).status == 201
                yield OutageFixture(api, server, proxy, jetstream.ports)


async def test_invocations_are_refused_while_nats_is_down_and_kept_after_a_restart(
    outage: OutageFixture,
) -> None:
    assert (await outage.invoke("before")).status == 202
    await outage.server.process.stop()
    refused = await eventually(
        lambda: outage.invoke("down"), lambda response: response.status == 503
    )
    assert refused.error["code"] == "service_unavailable"
    assert (await outage.api.get(invocation_path(NAME, "before"))).status == 503
    assert (await outage.api.delete(function_path(NAME))).status == 503
    outage.server.process.start()
    await outage.server.wait_ready()
    await eventually(lambda: outage.invoke("after"), lambda response: response.status in (200, 202))
    assert (await outage.api.get(invocation_path(NAME, "before"))).data["state"] == "queued"
    accepted = await eventually(lambda: outage.invoke("down"))
    assert accepted.status in (200, 202)
    await eventually(  # our own connection comes back together with the API's
        lambda: outage.queue.calls.count_unfinished(NAME),
        lambda count: count == 3,
        tolerate=QueueError,
    )


async def test_invocations_are_refused_while_nats_hangs_and_accepted_after_it_recovers(
    outage: OutageFixture,
) -> None:
    assert (await outage.invoke("before")).status == 202
    outage.proxy.stall()
    responses = await asyncio.gather(*(outage.invoke(f"s{number}") for number in range(8)))
    assert {response.status for response in responses} == {503}
    assert (await outage.invoke("late")).status == 503
    outage.proxy.clear_faults()
    outage.proxy.cut()
    await eventually(lambda: outage.invoke("after"), lambda response: response.status in (200, 202))
    assert not await outage.has_record("late")


@pytest.mark.parametrize("stream", ["RUNTIME_INVOCATIONS", "KV_runtime-invocations"])
async def test_a_deleted_stream_is_recreated_without_a_reconnect(
    outage: OutageFixture, stream: str
) -> None:
    assert (await outage.invoke("before")).status == 202
    admin = await nats.connect(outage.server.admin_url)
    try:
        await admin.jetstream().delete_stream(stream)
    finally:
        await admin.close()
    assert (await outage.invoke("missed")).status_and_code == (503, "service_unavailable")
    await eventually(lambda: outage.invoke("after"), lambda response: response.status == 202)


async def test_an_invocation_for_a_full_stream_gets_429_and_leaves_no_record(
    outage: OutageFixture,
) -> None:
    responses = await asyncio.gather(*(outage.invoke(f"f{number}") for number in range(50)))
    by_status = {
        status: [number for number, response in enumerate(responses) if response.status == status]
        for status in (202, 429)
    }
    assert [len(numbers) for numbers in by_status.values()] == [40, 10]
    for number in by_status[429]:
        assert not await outage.has_record(f"f{number}")
    assert {responses[number].error["code"] for number in by_status[429]} == {"queue_full"}
    cancelled = by_status[202][0]
    assert (await outage.api.delete(invocation_path(NAME, f"f{cancelled}"))).status == 200
    refused = f"f{by_status[429][0]}"
    assert (await outage.invoke(refused)).status == 202  # a released slot is free again
