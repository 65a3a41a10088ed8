"""The API while its queue is down, restarted, full or out of reach."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import nats
import pytest

from apiserver.config import NATSConfig
from apiserver.http.paths import FUNCTIONS, INVOCATIONS, function, invocation
from apiserver.nats.errors import QueueError
from apiserver.nats.port import Queue
from hack.cluster.nats_server import QueueServer
from shared.invocation.queue_names import record_key
from shared.invocation.streams import StreamLimits
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.our_api import serving
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.http.api_client import Answer, Caller
from tests.support.queue.invocation_api import connected, nats_settings, queue_connected
from tests.support.queue.nats_server import new_queue
from tests.support.wait.eventually import eventually

NAME = "echo"
LIMITS = StreamLimits(max_queued_messages=40)


@dataclass(frozen=True)
class Scene:
    """An API that reaches its queue through a proxy."""

    api: Caller
    server: QueueServer
    proxy: TCPProxy
    queue: Queue

    async def invoke(self, invocation_id: str) -> Answer:
        body = {"serverlessRequestID": NAME, "invocationID": invocation_id, "payload": 1}
        return await self.api.post(INVOCATIONS, body)

    async def has_record(self, invocation_id: str) -> bool:
        kept = await self.queue.records.find(record_key(NAME, invocation_id))
        return kept is not None and kept.record is not None


@pytest.fixture
async def scene(site: Site, tmp_path: Path) -> AsyncIterator[Scene]:
    """One function on an API process of its own."""
    async with new_queue(tmp_path / "queue") as server:
        target = urlsplit(server.url)
        proxy = TCPProxy(target.hostname or "", target.port or 0)
        async with proxy.serving():
            reached = nats_settings(server, f"nats://127.0.0.1:{proxy.port}")
            settings = {**reached, "limits": {"maxQueuedMessages": LIMITS.max_queued_messages}}
            async with (
                serving(site, tmp_path / "api", nats=settings) as product,
                connected(NATSConfig(url=server.admin_url, limits=LIMITS)) as jetstream,
            ):
                api = Caller(product.url)
                await queue_connected(api)
                made = {"operationID": "1", "name": NAME, "specName": "g1.1", "image": "a"}
                assert (await api.post(FUNCTIONS, made)).status == 201
                yield Scene(api, server, proxy, jetstream.queue)


async def test_a_queue_that_is_down_accepts_nothing_and_one_that_is_back_has_all(
    scene: Scene,
) -> None:
    assert (await scene.invoke("before")).status == 202
    await scene.server.process.stop()
    down = await eventually(lambda: scene.invoke("down"), lambda answer: answer.status == 503)
    assert down.error["code"] == "service_unavailable"
    assert (await scene.api.get(invocation(NAME, "before"))).status == 503
    assert (await scene.api.delete(function(NAME))).status == 503
    scene.server.process.start()
    await scene.server.ready()
    await eventually(lambda: scene.invoke("after"), lambda answer: answer.status in (200, 202))
    assert (await scene.api.get(invocation(NAME, "before"))).data["state"] == "queued"
    known = await eventually(lambda: scene.invoke("down"))
    assert known.status in (200, 202)
    await eventually(  # our own connection comes back when it does
        lambda: scene.queue.calls.held(NAME), lambda held: held == 3, tolerate=QueueError
    )


async def test_a_silent_queue_accepts_nothing_and_is_used_again_when_it_speaks(
    scene: Scene,
) -> None:
    assert (await scene.invoke("before")).status == 202
    scene.proxy.stall()
    answers = await asyncio.gather(*(scene.invoke(f"s{number}") for number in range(8)))
    assert {each.status for each in answers} == {503}
    assert (await scene.invoke("late")).status == 503
    scene.proxy.heal()
    scene.proxy.cut()
    await eventually(lambda: scene.invoke("after"), lambda answer: answer.status in (200, 202))
    assert not await scene.has_record("late")


@pytest.mark.parametrize("stream", ["RUNTIME_INVOCATIONS", "KV_runtime-invocations"])
async def test_a_stream_that_somebody_deletes_is_made_again_without_a_new_connection(
    scene: Scene, stream: str
) -> None:
    assert (await scene.invoke("before")).status == 202
    admin = await nats.connect(scene.server.admin_url)
    try:
        await admin.jetstream().delete_stream(stream)
    finally:
        await admin.close()
    assert (await scene.invoke("missed")).refusal == (503, "service_unavailable")
    await eventually(lambda: scene.invoke("after"), lambda answer: answer.status == 202)


async def test_a_full_stream_is_429_and_leaves_no_record(scene: Scene) -> None:
    answers = await asyncio.gather(*(scene.invoke(f"f{number}") for number in range(50)))
    by_status = {
        status: [number for number, each in enumerate(answers) if each.status == status]
        for status in (202, 429)
    }
    assert [len(numbers) for numbers in by_status.values()] == [40, 10]
    for number in by_status[429]:
        assert not await scene.has_record(f"f{number}")
    assert {answers[number].error["code"] for number in by_status[429]} == {"queue_full"}
    gone = by_status[202][0]
    assert (await scene.api.delete(invocation(NAME, f"f{gone}"))).status == 200
    refused = f"f{by_status[429][0]}"
    assert (await scene.invoke(refused)).status == 202  # a place that was taken back is free
