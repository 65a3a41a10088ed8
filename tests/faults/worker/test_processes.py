"""Worker processes: they start, drain, are killed, and restart."""

import asyncio
import json
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hack.cluster.nats_server import NATSServer
from hack.cluster.process import Process
from shared.invocation.record import InvocationBody
from shared.invocation.state import InvocationState
from tests.runner.run_directory import with_run_mark
from tests.runner.seeds import draw_seeds
from tests.support.http.get import get
from tests.support.queue.function_harness import (
    FunctionHarness,
    is_running,
    new_function_harness,
)
from tests.support.queue.worker_process import run_worker_process
from tests.support.wait.eventually import eventually, immediate

FUNCTION = """\
from serverless.framework import Invocation, serve

def handle(invocation: Invocation) -> object:
    return {"got": invocation.json()}

serve(handle)
"""
ENDLESS = """\
import asyncio
from pathlib import Path
from serverless.framework import Invocation, serve

async def handle(invocation: Invocation) -> object:
    Path(invocation.json()).touch()
    await asyncio.sleep(3600)

serve(handle)
"""
STUBBORN = """\
import atexit, time
atexit.register(time.sleep, 3600)
"""


@pytest.fixture
async def short_ack_wait_harness(nats_server: NATSServer) -> AsyncIterator[FunctionHarness]:
    """Create a harness with a short ack wait.

    The messages of a silent worker soon go to another.
    """
    async with new_function_harness(nats_server) as harness:
        yield harness


async def test_a_worker_process_becomes_ready_drains_and_exits_cleanly(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    async with run_worker_process(tmp_path / "w", harness.function_name, nats_server) as pair:
        await pair.wait_ready()
        gate = tmp_path / "gate"
        await harness.submit("waiting", attributes={"until": str(gate)})
        name = f"{harness.function_name}-1"
        await eventually(lambda: harness.worker_report(name), is_running(1))
        async with asyncio.TaskGroup() as group:
            drains = [
                group.create_task(get(f"{pair.url}/drain", timeout_seconds=60)) for _ in range(2)
            ]
            await eventually(lambda: get(f"{pair.url}/readyz"), lambda response: response[0] == 503)
            assert not any(drain.done() for drain in drains)
            gate.touch()
        assert [drain.result()[0] for drain in drains] == [200, 200]
        snapshot = await harness.wait_finished()
        assert [outcome.state for outcome in snapshot.outcomes] == [InvocationState.SUCCEEDED]
        assert (await get(f"{pair.url}/healthz"))[0] == 200
        status, body = await get(f"{pair.url}/readyz")
        assert (status, body["data"]["reasons"]) == (503, ["the worker is draining"])
        _, metrics = await get(f"{pair.url}/metrics")
        outcome = f'{{function="{harness.function_name}",outcome="succeeded"}} 1.0'
        assert f"gpuruntime_invocations_finished_total{outcome}" in metrics
        assert await pair.worker.signal_and_wait(signal.SIGTERM) == 0


async def test_a_worker_finishes_its_running_invocations_after_sigterm(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    async with run_worker_process(tmp_path / "w", harness.function_name, nats_server) as pair:
        await pair.wait_ready()
        await harness.submit("slow", attributes={"sleepSeconds": 2})
        await eventually(lambda: immediate(pair.executions()))
        assert await pair.worker.signal_and_wait(signal.SIGTERM) == 0
        snapshot = await harness.wait_finished()
        assert await pair.framework.signal_and_wait(signal.SIGTERM) == 0
    assert [(outcome.state, outcome.attempts) for outcome in snapshot.outcomes] == [
        (InvocationState.SUCCEEDED, 1)
    ]


@pytest.mark.parametrize("seed", draw_seeds("kills"))
async def test_invocations_run_exactly_once_while_worker_processes_are_killed(
    nats_server: NATSServer, short_ack_wait_harness: FunctionHarness, tmp_path: Path, seed: int
) -> None:
    harness, randomness = short_ack_wait_harness, random.Random(seed)
    for number in range(30):
        attributes = {"sleepSeconds": randomness.uniform(0, 0.4)}
        await harness.submit(f"n{number}", attributes=attributes, max_attempts=20)
    await harness.submit("crashing", attributes={"exit": 3}, max_attempts=2)
    async with (
        run_worker_process(tmp_path / "a", harness.function_name, nats_server) as first,
        run_worker_process(tmp_path / "b", harness.function_name, nats_server) as second,
    ):
        await asyncio.gather(first.wait_ready(), second.wait_ready())
        victims = [process for pair in (first, second) for process in (pair.worker, pair.framework)]
        for _ in range(6):
            await asyncio.sleep(randomness.uniform(0, 0.5))  # so that the kill falls at any moment
            victim = randomness.choice(victims)
            number = randomness.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
            await victim.signal_and_wait(number)
            victim.start()
        await eventually(lambda: is_empty_with_restarts(harness, victims), timeout_seconds=120)
        harness.executions += first.executions() + second.executions()
        snapshot = await harness.wait_finished()
    states = {outcome.invocation_id: outcome.state for outcome in snapshot.outcomes}
    assert states.pop("crashing") == InvocationState.DEAD_LETTERED
    assert set(states.values()) == {InvocationState.SUCCEEDED}


async def is_empty_with_restarts(harness: FunctionHarness, victims: list[Process]) -> bool:
    """Restart exited processes, as a kubelet does; return whether the queue is empty."""
    for victim in victims:
        if victim.pid is None:
            victim.start()
    return await harness.is_queue_empty()


async def test_a_function_runs_locally_against_a_nats_server(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    script = tmp_path / "my_function.py"
    script.write_text(FUNCTION)
    options = ("--local", str(script), "--request-id", harness.function_name)
    process = await start_worker(*options, "--nats-url", nats_server.admin_url)
    await harness.submit("it", content_type="application/json", body=inline(b"[1, 2]"))
    snapshot = await harness.wait_finished()
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    (outcome,) = snapshot.outcomes
    assert json.loads(outcome.result.body.inline) == {"got": [1, 2]}


async def test_a_function_runs_once_without_nats(tmp_path: Path) -> None:
    script, payload = tmp_path / "my_function.py", tmp_path / "payload.json"
    script.write_text(FUNCTION)
    payload.write_text('"you"')
    process = await start_worker("--local", str(script), "--once", str(payload))
    output, _ = await process.communicate()
    assert (process.returncode, json.loads(output)) == (0, {"got": "you"})
    payload.write_text("{")
    process = await start_worker("--local", str(script), "--once", str(payload))
    output, errors = await process.communicate()
    assert process.returncode == 1
    assert b"failed: the function responded with status 500" in errors
    script.write_text("def handle(invocation): ...")
    process = await start_worker("--local", str(script), "--once", str(payload))
    _, errors = await process.communicate()
    assert process.returncode == 1
    assert b"exited without a response: does it call serve?" in errors


async def test_ctrl_c_interrupts_a_local_call_without_a_traceback(tmp_path: Path) -> None:
    script, payload, called = (tmp_path / name for name in ("my_function.py", "payload", "called"))
    script.write_text(ENDLESS)
    payload.write_text(json.dumps(str(called)))
    process = await start_worker("--local", str(script), "--once", str(payload))
    await eventually(lambda: asyncio.sleep(0, called.exists()))
    process.send_signal(signal.SIGINT)
    output, errors = await process.communicate()
    assert (process.returncode, output) == (130, b"")
    assert b"Traceback" not in errors


async def test_a_local_framework_that_does_not_exit_is_killed(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    script = tmp_path / "my_function.py"
    script.write_text(STUBBORN + FUNCTION)
    options = ("--local", str(script), "--request-id", harness.function_name)
    process = await start_worker(*options, "--nats-url", nats_server.admin_url)
    await harness.submit("it", content_type="application/json", body=inline(b"[1, 2]"))
    await harness.wait_finished()
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0


async def test_a_worker_without_an_environment_reports_the_missing_variables() -> None:
    process = await start_worker()
    _, errors = await process.communicate()
    assert process.returncode == 2
    assert b"GPU_RUNTIME_REQUEST_ID: is not set" in errors


async def start_worker(*arguments: str) -> asyncio.subprocess.Process:
    pipe, module = asyncio.subprocess.PIPE, ("-m", "serverless.worker")
    environment = {key: text for key, text in os.environ.items() if "GPU_RUNTIME" not in key}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, *module, *arguments),
        stdout=pipe,
        stderr=pipe,
        env=with_run_mark(environment),
        preexec_fn=handle_ctrl_c,
    )


def handle_ctrl_c() -> None:
    """Handle SIGINT as in a terminal.

    A script starts its background processes with SIGINT ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def inline(data: bytes) -> InvocationBody:
    return InvocationBody(inline=data, size=len(data))
