"""One echo after the other on a warm worker, compared with one request and its reply."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import nats.errors
from nats.aio.msg import Msg

from apiserver.http.paths import FUNCTIONS, INVOCATIONS
from hack.cluster.nats_server import NATSServer
from shared.invocation import record as codec
from shared.invocation.queue_names import record_key
from tests.bench.api.api_cluster import run_api_bench_cluster
from tests.bench.api.ingest import run_api_with_function
from tests.bench.reports import summarise
from tests.bench.serverless.replier import SUBJECT
from tests.bench.table import Measure, new_measure
from tests.support.queue.function_harness import FunctionHarness, new_function_harness
from tests.support.queue.nats_server import new_nats_server
from tests.support.queue.worker_process import run_worker_process
from tests.support.wait.eventually import eventually

ROUND_COUNT = 300
WARM_UP_ROUNDS = 50


async def measure_echo() -> list[Measure]:
    """Measure a sync call over HTTP, and its part from the message in the queue to the outcome.

    All are measured in turn, so that other load on the machine slows all of them.
    """
    async with run_api_bench_cluster() as cluster:
        state_dir = cluster.control_plane.layout.state_dir
        async with (
            new_nats_server(state_dir / "queue") as server,
            new_function_harness(server) as harness,
            run_api_with_function(cluster, server) as (api, _),
            run_replier(server, harness),
            run_worker_process(state_dir / "worker", harness.function_name, server) as worker,
        ):
            await create_function(api, harness.function_name)
            await worker.wait_ready()
            rounds = [
                (
                    await time_sync_call(api, harness.function_name, number),
                    await time_queue_to_outcome(harness, number),
                    await time_request_reply(harness),
                    await time_publish(harness),
                )
                for number in range(WARM_UP_ROUNDS + ROUND_COUNT)
            ]
    calls, echoes, replies, writes = (
        summarise(seconds) for seconds in zip(*rounds[WARM_UP_ROUNDS:], strict=True)
    )
    call_title = "sync echo over HTTP on a warm worker"
    queue_title = "echo on a warm worker, from queue to outcome"
    return [
        new_measure(f"{call_title}, p50, against request-reply", calls.p50, replies.p50, "<= 10x"),
        new_measure(f"{call_title}, p50, against one stored message", calls.p50, writes.p50),
        new_measure(f"{call_title}, p99, against request-reply", calls.p99, replies.p99),
        new_measure(f"{queue_title}, p50, against request-reply", echoes.p50, replies.p50),
        new_measure(f"{queue_title}, p50, against one stored message", echoes.p50, writes.p50),
        new_measure(f"{queue_title}, p99, against request-reply", echoes.p99, replies.p99),
    ]


async def create_function(api: aiohttp.ClientSession, function_name: str) -> None:
    """Create the function in the API; its consumer and its worker exist already."""
    body = {"operationID": function_name, "name": function_name, "specName": "any", "image": "any"}
    async with api.post(FUNCTIONS, json=body) as response:
        response.raise_for_status()


async def time_sync_call(api: aiohttp.ClientSession, function_name: str, number: int) -> float:
    """Return the seconds of one invocation from the request to the outcome."""
    body = {"serverlessRequestID": function_name, "invocationID": f"s{number}", "payload": number}
    began = time.perf_counter()
    async with api.post(INVOCATIONS, json={**body, "mode": "sync", "waitSeconds": 50}) as response:
        result = await response.json()
    seconds = time.perf_counter() - began
    assert result["data"]["state"] == "succeeded", result
    return seconds


async def time_queue_to_outcome(harness: FunctionHarness, number: int) -> float:
    """Return the seconds of one invocation from its message to its final record."""
    name, final = f"n{number}", asyncio.Event()

    async def on_record(message: Msg) -> None:
        if codec.decode_record(message.data).is_final:
            final.set()

    subject = harness.names.record_subject(record_key(harness.function_name, name))
    record = await harness.create_record(name)
    subscription = await harness.client.subscribe(subject, cb=on_record)
    await harness.client.flush()
    began = time.perf_counter()
    await harness.publish_call(name, record)
    await final.wait()
    seconds = time.perf_counter() - began
    await subscription.unsubscribe()
    return seconds


async def time_publish(harness: FunctionHarness) -> float:
    """Return the seconds to store one message in a stream."""
    began = time.perf_counter()
    await harness.client.jetstream().publish(harness.names.result_subject("bench"), b"x")
    return time.perf_counter() - began


async def time_request_reply(harness: FunctionHarness) -> float:
    """Return the seconds of a request to another process and its reply."""
    began = time.perf_counter()
    await harness.client.request(SUBJECT, b"x", timeout=5)
    return time.perf_counter() - began


@asynccontextmanager
async def run_replier(server: NATSServer, harness: FunctionHarness) -> AsyncIterator[None]:
    """Run a process that replies to requests at once, for the length of the block."""
    command = (sys.executable, "-m", "tests.bench.serverless.replier", server.admin_url)
    process = await asyncio.create_subprocess_exec(*command)
    try:
        await eventually(lambda: time_request_reply(harness), tolerate=nats.errors.Error)
        yield
    finally:
        process.kill()
        await process.wait()
