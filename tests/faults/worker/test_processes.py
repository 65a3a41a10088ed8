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
    async with new_function_harness(nats_server) as made:
        yield made


async def test_a_worker_is_ready_counts_drains_and_ends_cleanly(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    async with run_worker_process(tmp_path / "w", harness.function_name, nats_server) as both:
        await both.wait_ready()
        gate = tmp_path / "gate"
        await harness.submit("held", attributes={"until": str(gate)})
        name = f"{harness.function_name}-1"
        await eventually(lambda: harness.worker_report(name), is_running(1))
        async with asyncio.TaskGroup() as group:
            drains = [
                group.create_task(get(f"{both.url}/drain", timeout_seconds=60)) for _ in range(2)
            ]
            await eventually(lambda: get(f"{both.url}/readyz"), lambda answer: answer[0] == 503)
            assert not any(each.done() for each in drains)
            gate.touch()
        assert [each.result()[0] for each in drains] == [200, 200]
        seen = await harness.wait_finished()
        assert [each.state for each in seen.outcomes] == [InvocationState.SUCCEEDED]
        assert (await get(f"{both.url}/healthz"))[0] == 200
        status, answer = await get(f"{both.url}/readyz")
        assert (status, answer["data"]["reasons"]) == (503, ["the worker is draining"])
        _, metrics = await get(f"{both.url}/metrics")
        outcome = f'{{function="{harness.function_name}",outcome="succeeded"}} 1.0'
        assert f"gpuruntime_invocations_finished_total{outcome}" in metrics
        assert await both.worker.signal_and_wait(signal.SIGTERM) == 0


async def test_a_worker_that_is_told_to_end_finishes_what_runs(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    async with run_worker_process(tmp_path / "w", harness.function_name, nats_server) as both:
        await both.wait_ready()
        await harness.submit("slow", attributes={"sleepSeconds": 2})
        await eventually(lambda: immediate(both.executions()))
        assert await both.worker.signal_and_wait(signal.SIGTERM) == 0
        seen = await harness.wait_finished()
        assert await both.framework.signal_and_wait(signal.SIGTERM) == 0
    assert [(each.state, each.attempts) for each in seen.outcomes] == [
        (InvocationState.SUCCEEDED, 1)
    ]


@pytest.mark.parametrize("seed", draw_seeds("kills"))
async def test_invocations_run_exactly_once_while_worker_processes_are_killed(
    nats_server: NATSServer, short_ack_wait_harness: FunctionHarness, tmp_path: Path, seed: int
) -> None:
    world, randomness = short_ack_wait_harness, random.Random(seed)
    for number in range(30):
        told = {"sleepSeconds": randomness.uniform(0, 0.4)}
        await world.submit(f"n{number}", attributes=told, max_attempts=20)
    await world.submit("poison", attributes={"exit": 3}, max_attempts=2)
    async with (
        run_worker_process(tmp_path / "a", world.function_name, nats_server) as one,
        run_worker_process(tmp_path / "b", world.function_name, nats_server) as two,
    ):
        await asyncio.gather(one.wait_ready(), two.wait_ready())
        victims = [process for both in (one, two) for process in (both.worker, both.framework)]
        for _ in range(6):
            await asyncio.sleep(randomness.uniform(0, 0.5))  # so that the kill falls at any moment
            victim = randomness.choice(victims)
            number = randomness.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
            await victim.signal_and_wait(number)
            victim.start()
        await eventually(lambda: over_with_everybody_up(world, victims), timeout_seconds=120)
        world.executions += one.executions() + two.executions()
        seen = await world.wait_finished()
    states = {each.invocation_id: each.state for each in seen.outcomes}
    assert states.pop("poison") == InvocationState.DEAD_LETTERED
    assert set(states.values()) == {InvocationState.SUCCEEDED}


async def over_with_everybody_up(world: FunctionHarness, victims: list[Process]) -> bool:
    """Return whether all is done.

    Restart the workers that a poison message has killed, as a kubelet does.
    """
    for victim in victims:
        if victim.pid is None:
            victim.start()
    return await world.is_queue_empty()


async def test_a_function_runs_locally_against_a_nats_server(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    script = tmp_path / "my_function.py"
    script.write_text(FUNCTION)
    told = ("--local", str(script), "--request-id", harness.function_name)
    desk = await started(*told, "--nats-url", nats_server.admin_url)
    await harness.submit("it", content_type="application/json", body=inline(b"[1, 2]"))
    seen = await harness.wait_finished()
    desk.send_signal(signal.SIGTERM)
    assert await desk.wait() == 0
    (outcome,) = seen.outcomes
    assert json.loads(outcome.result.body.inline) == {"got": [1, 2]}


async def test_a_function_runs_once_without_any_queue(tmp_path: Path) -> None:
    script, payload = tmp_path / "my_function.py", tmp_path / "payload.json"
    script.write_text(FUNCTION)
    payload.write_text('"you"')
    desk = await started("--local", str(script), "--once", str(payload))
    output, _ = await desk.communicate()
    assert (desk.returncode, json.loads(output)) == (0, {"got": "you"})
    payload.write_text("{")
    desk = await started("--local", str(script), "--once", str(payload))
    output, errors = await desk.communicate()
    assert desk.returncode == 1
    assert b"failed: the function answered with status 500" in errors
    script.write_text("def handle(invocation): ...")
    desk = await started("--local", str(script), "--once", str(payload))
    _, errors = await desk.communicate()
    assert desk.returncode == 1
    assert b"exited without a response: does it call serve?" in errors


async def test_ctrl_c_ends_a_slow_local_call_without_a_traceback(tmp_path: Path) -> None:
    script, payload, called = (tmp_path / name for name in ("my_function.py", "payload", "called"))
    script.write_text(ENDLESS)
    payload.write_text(json.dumps(str(called)))
    desk = await started("--local", str(script), "--once", str(payload))
    await eventually(lambda: asyncio.sleep(0, called.exists()))
    desk.send_signal(signal.SIGINT)
    output, errors = await desk.communicate()
    assert (desk.returncode, output) == (130, b"")
    assert b"Traceback" not in errors


async def test_a_local_framework_that_does_not_exit_is_killed(
    nats_server: NATSServer, harness: FunctionHarness, tmp_path: Path
) -> None:
    script = tmp_path / "my_function.py"
    script.write_text(STUBBORN + FUNCTION)
    told = ("--local", str(script), "--request-id", harness.function_name)
    desk = await started(*told, "--nats-url", nats_server.admin_url)
    await harness.submit("it", content_type="application/json", body=inline(b"[1, 2]"))
    await harness.wait_finished()
    desk.send_signal(signal.SIGTERM)
    assert await desk.wait() == 0


async def test_a_worker_without_an_environment_says_what_is_missing() -> None:
    desk = await started()
    _, errors = await desk.communicate()
    assert desk.returncode == 2
    assert b"GPU_RUNTIME_REQUEST_ID: is not set" in errors


async def started(*arguments: str) -> asyncio.subprocess.Process:
    pipe, module = asyncio.subprocess.PIPE, ("-m", "serverless.worker")
    environment = {key: text for key, text in os.environ.items() if "GPU_RUNTIME" not in key}
    return await asyncio.create_subprocess_exec(
        *(sys.executable, *module, *arguments),
        stdout=pipe,
        stderr=pipe,
        env=with_run_mark(environment),
        preexec_fn=heed_ctrl_c,
    )


def heed_ctrl_c() -> None:
    """Handle SIGINT as in a terminal.

    A script starts its background processes with SIGINT ignored.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def inline(data: bytes) -> InvocationBody:
    return InvocationBody(inline=data, size=len(data))
