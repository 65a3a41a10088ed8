"""Ten thousand queued invocations, drained by four workers, against messages that only go by."""

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

from hack.cluster.nats_server import NATSServer
from shared.invocation.limits import ACK_WAIT_SECONDS
from tests.bench.table import Measure, new_measure
from tests.support.checks.invocation_checks import find_violations, is_finished
from tests.support.queue.function_harness import FunctionHarness, new_function_harness
from tests.support.queue.nats_server import new_nats_server
from tests.support.queue.worker_process import WorkerProcess, run_worker_process
from tests.support.wait.eventually import eventually

INVOCATION_COUNT = 10_000
WORKER_COUNT = 4
CONCURRENCY = 8
SUBMITTER_COUNT = 64
KILL_COUNT = 8
TIMEOUT_SECONDS = 900.0


async def measure_drain(count: int = INVOCATION_COUNT) -> list[Measure]:
    """Seconds an invocation, undisturbed and while workers are killed; both must lose nothing."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with new_nats_server(Path(folder) / "queue") as server:
            bare = await time_pull_and_ack(server, count)
            calm = await time_drain(server, Path(folder) / "calm", count, kills=0)
            wild = await time_drain(server, Path(folder) / "wild", count, kills=KILL_COUNT)
    what = f"drain of {count:,} echo invocations by {WORKER_COUNT} workers"
    return [
        new_measure(f"{what} against pull and ack, each", calm / count, bare / count),
        new_measure(f"{what} while {KILL_COUNT} are killed, each", wild / count, bare / count),
    ]


async def time_pull_and_ack(nats_server: NATSServer, count: int) -> float:
    """Seconds to pull as many messages from the same consumer, and only acknowledge them."""
    async with new_function_harness(nats_server) as world:
        await submit_all(world, count)
        js, stream = world.client.jetstream(), world.names.invocations_stream
        pulled = await js.pull_subscribe_bind(world.function_name, stream)
        began, left = time.perf_counter(), count
        while left:
            messages = await pulled.fetch(min(left, CONCURRENCY * WORKER_COUNT))
            for message in messages:
                await message.ack()
            left -= len(messages)
        return time.perf_counter() - began


async def time_drain(nats_server: NATSServer, state_dir: Path, count: int, kills: int) -> float:
    """Seconds from the first worker that is ready to the last outcome."""
    async with new_function_harness(nats_server) as world, AsyncExitStack() as stack:
        await world.create_streams(float(ACK_WAIT_SECONDS))
        crew = [
            await stack.enter_async_context(
                run_worker_process(
                    state_dir / f"{number}", world.function_name, nats_server, CONCURRENCY
                )
            )
            for number in range(WORKER_COUNT)
        ]
        await asyncio.gather(*(each.wait_ready() for each in crew))
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            group.create_task(submit_all(world, count))
            group.create_task(kill_workers(crew, kills))
        await eventually(world.is_queue_empty, timeout_seconds=TIMEOUT_SECONDS)
        seconds = time.perf_counter() - began
        world.executions += [call for each in crew for call in each.executions()]
        seen = await eventually(world.snapshot, is_finished)
        if broken := find_violations(seen):
            raise AssertionError(broken)
        return seconds


async def kill_workers(workers: list[WorkerProcess], kills: int) -> None:
    """Kill workers while they drain; each is started again at once."""
    randomness = Random(kills)
    for _ in range(kills):
        await asyncio.sleep(randomness.uniform(0.5, 1.5))
        victim = randomness.choice(workers).worker
        await victim.kill()
        victim.start()


async def submit_all(harness: FunctionHarness, count: int) -> None:
    """Accept so many invocations, some at once."""
    numbers = iter(range(count))

    async def some() -> None:
        for number in numbers:
            await harness.submit(f"n{number}")

    async with asyncio.TaskGroup() as group:
        for _ in range(SUBMITTER_COUNT):
            group.create_task(some())
