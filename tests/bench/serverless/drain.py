"""Ten thousand queued invocations, drained by four workers, against messages that only go by."""

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

from hack.cluster.nats_server import QueueServer
from shared.invocation.limits import ACK_WAIT_SECONDS
from tests.bench.table import Measure, measured
from tests.support.checks.invocation_checks import is_over, violations
from tests.support.queue.function_harness import FunctionWorld, new_world
from tests.support.queue.nats_server import new_queue
from tests.support.queue.worker_process import WorkerProcess, worker_process
from tests.support.wait.eventually import eventually

COUNT = 10_000
WORKERS = 4
CONCURRENCY = 8
AT_ONCE = 64
KILLS = 8
PATIENCE_SECONDS = 900.0


async def drain_measures(count: int = COUNT) -> list[Measure]:
    """Seconds an invocation, undisturbed and while workers are killed; both must lose nothing."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with new_queue(Path(folder) / "queue") as server:
            bare = await passed_by(server, count)
            calm = await drained(server, Path(folder) / "calm", count, kills=0)
            wild = await drained(server, Path(folder) / "wild", count, kills=KILLS)
    what = f"drain of {count:,} echo invocations by {WORKERS} workers"
    return [
        measured(f"{what} against pull and ack, each", calm / count, bare / count),
        measured(f"{what} while {KILLS} are killed, each", wild / count, bare / count),
    ]


async def passed_by(server: QueueServer, count: int) -> float:
    """Seconds to pull as many messages from the same consumer, and only acknowledge them."""
    async with new_world(server) as world:
        await in_bulk(world, count)
        js, stream = world.client.jetstream(), world.names.invocations_stream
        pulled = await js.pull_subscribe_bind(world.request_id, stream)
        began, left = time.perf_counter(), count
        while left:
            messages = await pulled.fetch(min(left, CONCURRENCY * WORKERS))
            for message in messages:
                await message.ack()
            left -= len(messages)
        return time.perf_counter() - began


async def drained(server: QueueServer, home: Path, count: int, kills: int) -> float:
    """Seconds from the first worker that is ready to the last outcome."""
    async with new_world(server) as world, AsyncExitStack() as stack:
        await world.install(float(ACK_WAIT_SECONDS))
        crew = [
            await stack.enter_async_context(
                worker_process(home / f"{number}", world.request_id, server, CONCURRENCY)
            )
            for number in range(WORKERS)
        ]
        await asyncio.gather(*(each.ready() for each in crew))
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            group.create_task(in_bulk(world, count))
            group.create_task(killing(crew, kills))
        await eventually(world.nothing_is_queued, seconds=PATIENCE_SECONDS)
        seconds = time.perf_counter() - began
        world.executions += [call for each in crew for call in each.executions()]
        seen = await eventually(world.seen, is_over)
        if broken := violations(seen):
            raise AssertionError(broken)
        return seconds


async def killing(crew: list[WorkerProcess], kills: int) -> None:
    """Kill workers while they drain; each is started again at once."""
    randomness = Random(kills)
    for _ in range(kills):
        await asyncio.sleep(randomness.uniform(0.5, 1.5))
        victim = randomness.choice(crew).worker
        await victim.kill()
        victim.start()


async def in_bulk(world: FunctionWorld, count: int) -> None:
    """Accept so many invocations, some at once."""
    numbers = iter(range(count))

    async def some() -> None:
        for number in numbers:
            await world.submit(f"n{number}")

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(some())
