"""Ten thousand queued invocations, drained by four workers, compared with bare messages."""

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
    """Measure the seconds for each invocation, undisturbed and while workers are killed."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        async with new_nats_server(Path(folder) / "queue") as server:
            bare = await time_pull_and_ack(server, count)
            undisturbed = await time_drain(server, Path(folder) / "undisturbed", count, kills=0)
            with_kills = await time_drain(
                server, Path(folder) / "with-kills", count, kills=KILL_COUNT
            )
    title = f"drain of {count:,} echo invocations by {WORKER_COUNT} workers"
    return [
        new_measure(f"{title} against pull and ack, each", undisturbed / count, bare / count),
        new_measure(
            f"{title} while {KILL_COUNT} are killed, each", with_kills / count, bare / count
        ),
    ]


async def time_pull_and_ack(nats_server: NATSServer, count: int) -> float:
    """Return the seconds to pull and acknowledge as many messages from the same consumer."""
    async with new_function_harness(nats_server) as harness:
        await submit_all(harness, count)
        js, stream = harness.client.jetstream(), harness.names.invocations_stream
        pulled = await js.pull_subscribe_bind(harness.function_name, stream)
        began, remaining = time.perf_counter(), count
        while remaining:
            messages = await pulled.fetch(min(remaining, CONCURRENCY * WORKER_COUNT))
            for message in messages:
                await message.ack()
            remaining -= len(messages)
        return time.perf_counter() - began


async def time_drain(nats_server: NATSServer, state_dir: Path, count: int, kills: int) -> float:
    """Return the seconds from the first ready worker to the last outcome."""
    async with new_function_harness(nats_server) as harness, AsyncExitStack() as stack:
        await harness.create_streams(float(ACK_WAIT_SECONDS))
        workers = [
            await stack.enter_async_context(
                run_worker_process(
                    state_dir / f"{number}", harness.function_name, nats_server, CONCURRENCY
                )
            )
            for number in range(WORKER_COUNT)
        ]
        await asyncio.gather(*(worker.wait_ready() for worker in workers))
        began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            group.create_task(submit_all(harness, count))
            group.create_task(kill_workers(workers, kills))
        await eventually(harness.is_queue_empty, timeout_seconds=TIMEOUT_SECONDS)
        seconds = time.perf_counter() - began
        harness.executions += [call for worker in workers for call in worker.executions()]
        snapshot = await eventually(harness.snapshot, is_finished)
        if violations := find_violations(snapshot):
            raise AssertionError(violations)
        return seconds


async def kill_workers(workers: list[WorkerProcess], kills: int) -> None:
    """Kill workers while they drain; each is restarted at once."""
    randomness = Random(kills)
    for _ in range(kills):
        await asyncio.sleep(randomness.uniform(0.5, 1.5))
        victim = randomness.choice(workers).worker
        await victim.kill()
        victim.start()


async def submit_all(harness: FunctionHarness, count: int) -> None:
    """Submit `count` invocations, several at a time."""
    numbers = iter(range(count))

    async def submit_some() -> None:
        for number in numbers:
            await harness.submit(f"n{number}")

    async with asyncio.TaskGroup() as group:
        for _ in range(SUBMITTER_COUNT):
            group.create_task(submit_some())
