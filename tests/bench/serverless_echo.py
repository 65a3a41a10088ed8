"""One echo after the other by a warm worker, against one request and its reply."""

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats.errors
from nats.aio.msg import Msg

from hack.cluster.queue import QueueServer
from shared.invocation import record as codec
from shared.invocation.queue_names import record_key
from tests.bench.replier import SUBJECT
from tests.bench.reports import summary
from tests.bench.table import Measure, measured
from tests.support.eventually import eventually
from tests.support.function_world import FunctionWorld, new_world
from tests.support.queue_server import new_queue
from tests.support.worker_process import worker_process

COUNT = 300
WARM = 50


async def echo_measures() -> list[Measure]:
    """From the message in the queue to the outcome that a waiter sees.

    All three are asked in turn, so that whatever else the machine does slows all of them.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with (
            new_queue(Path(folder) / "queue") as server,
            new_world(server) as world,
            replying(server, world),
            worker_process(Path(folder) / "worker", world.request_id, server) as both,
        ):
            await both.ready()
            rounds = [
                (await echoed(world, number), await asked(world), await stored(world))
                for number in range(WARM + COUNT)
            ]
    echoes, replies, writes = (summary(each) for each in zip(*rounds[WARM:], strict=True))
    what = "echo on a warm worker, from queue to outcome"
    return [
        measured(f"{what}, p50, against request-reply", echoes.p50, replies.p50, "<= 10x"),
        measured(f"{what}, p50, against one stored message", echoes.p50, writes.p50),
        measured(f"{what}, p99, against request-reply", echoes.p99, replies.p99),
    ]


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
    command = (sys.executable, "-m", "tests.bench.replier", server.admin_url)
    process = await asyncio.create_subprocess_exec(*command)
    try:
        await eventually(lambda: asked(world), tolerate=nats.errors.Error)
        yield
    finally:
        process.kill()
        await process.wait()
