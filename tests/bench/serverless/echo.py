"""One echo after the other by a warm worker, against one request and its reply."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import nats.errors
from nats.aio.msg import Msg

from apiserver.http.paths import FUNCTIONS, INVOCATIONS
from hack.cluster.nats_server import QueueServer
from shared.invocation import record as codec
from shared.invocation.queue_names import record_key
from tests.bench.api.api_cluster import api_plane
from tests.bench.api.ingest import our_api
from tests.bench.reports import summary
from tests.bench.serverless.replier import SUBJECT
from tests.bench.table import Measure, measured
from tests.support.queue.function_harness import FunctionWorld, new_world
from tests.support.queue.nats_server import new_queue
from tests.support.queue.worker_process import worker_process
from tests.support.wait.eventually import eventually

COUNT = 300
WARM = 50


async def echo_measures() -> list[Measure]:
    """A whole sync call over HTTP, and the part from the message in the queue to the outcome.

    All are asked in turn, so that whatever else the machine does slows all of them.
    """
    async with api_plane() as cluster:
        home = cluster.plane.layout.home
        async with (
            new_queue(home / "queue") as server,
            new_world(server) as world,
            our_api(cluster, server) as (api, _),
            replying(server, world),
            worker_process(home / "worker", world.request_id, server) as both,
        ):
            await known(api, world.request_id)
            await both.ready()
            rounds = [
                (
                    await called(api, world.request_id, number),
                    await echoed(world, number),
                    await asked(world),
                    await stored(world),
                )
                for number in range(WARM + COUNT)
            ]
    calls, echoes, replies, writes = (summary(each) for each in zip(*rounds[WARM:], strict=True))
    whole = "sync echo over HTTP on a warm worker"
    part = "echo on a warm worker, from queue to outcome"
    return [
        measured(f"{whole}, p50, against request-reply", calls.p50, replies.p50, "<= 10x"),
        measured(f"{whole}, p50, against one stored message", calls.p50, writes.p50),
        measured(f"{whole}, p99, against request-reply", calls.p99, replies.p99),
        measured(f"{part}, p50, against request-reply", echoes.p50, replies.p50),
        measured(f"{part}, p50, against one stored message", echoes.p50, writes.p50),
        measured(f"{part}, p99, against request-reply", echoes.p99, replies.p99),
    ]


async def known(api: aiohttp.ClientSession, function: str) -> None:
    """Make the function known to the API; its consumer and its worker are there."""
    asked = {"operationID": function, "name": function, "specName": "any", "image": "any"}
    async with api.post(FUNCTIONS, json=asked) as response:
        response.raise_for_status()


async def called(api: aiohttp.ClientSession, function: str, number: int) -> float:
    """One invocation as a caller knows it, from the request to the outcome."""
    asked = {"serverlessRequestID": function, "invocationID": f"s{number}", "payload": number}
    began = time.perf_counter()
    async with api.post(INVOCATIONS, json={**asked, "mode": "sync", "waitSeconds": 50}) as response:
        answer = await response.json()
    seconds = time.perf_counter() - began
    assert answer["data"]["state"] == "succeeded", answer
    return seconds


async def echoed(world: FunctionWorld, number: int) -> float:
    """One invocation; the waiter is woken by the bucket's subject, as the API is."""
    name, final = f"n{number}", asyncio.Event()

    async def woken(message: Msg) -> None:
        if codec.decode(message.data).is_final:
            final.set()

    subject = world.names.record_subject(record_key(world.request_id, name))
    record = await world.accept(name)
    heard = await world.client.subscribe(subject, cb=woken)
    await world.client.flush()
    began = time.perf_counter()
    await world.queue(name, record)
    await final.wait()
    seconds = time.perf_counter() - began
    await heard.unsubscribe()
    return seconds


async def stored(world: FunctionWorld) -> float:
    """One message into a stream."""
    began = time.perf_counter()
    await world.client.jetstream().publish(world.names.result_subject("bench"), b"x")
    return time.perf_counter() - began


async def asked(world: FunctionWorld) -> float:
    """One request to another process, and its reply."""
    began = time.perf_counter()
    await world.client.request(SUBJECT, b"x", timeout=5)
    return time.perf_counter() - began


@asynccontextmanager
async def replying(server: QueueServer, world: FunctionWorld) -> AsyncIterator[None]:
    """A process that answers requests at once, for the length of the block."""
    command = (sys.executable, "-m", "tests.bench.serverless.replier", server.admin_url)
    process = await asyncio.create_subprocess_exec(*command)
    try:
        await eventually(lambda: asked(world), tolerate=nats.errors.Error)
        yield
    finally:
        process.kill()
        await process.wait()
