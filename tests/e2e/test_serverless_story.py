"""The story of serverless on the system that `make up` makes, and its promise under kills."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import nats
import psutil
import pytest

from apiserver.places import FUNCTIONS, INVOCATIONS
from hack.local.home import ROOT
from tests.support.caller import Caller
from tests.support.eventually import eventually
from tests.support.function_world import FunctionWorld, ignored
from tests.support.invocations import is_over
from tests.support.local_system import LocalSystem
from tests.support.noting_function import NOTEBOOK, executions
from tests.support.shell import blocks, shell

SECONDS = 240.0


@pytest.fixture(scope="module")
def system(run_folder: Path) -> Iterator[LocalSystem]:
    """A fresh system, as a new user has it."""
    local = LocalSystem(run_folder / "serverless" / "local")
    asyncio.run(local.up())
    yield local
    asyncio.run(local.down())


@asynccontextmanager
async def looking_at(system: LocalSystem, function: str) -> AsyncIterator[FunctionWorld]:
    """All that the queue holds of a function, while servers come and go."""
    client = await nats.connect(
        system.environment()["NATS_URL"],
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.2,
        error_cb=ignored,
    )
    try:
        yield FunctionWorld(client, function)
    finally:
        await client.close()


async def a_noting_function(api: Caller, notebook: Path) -> str:
    """A function whose calls are noted, with workers enough to kill some."""
    asked = {
        "operationID": "make-noting",
        "name": "noting",
        "specName": "c1.1",
        "image": "local/noting",
        "template": {
            "command": ["python", "-m", "tests.support.noting_function"],
            "envs": [{"name": NOTEBOOK, "value": str(notebook)}],
        },
        "maxWorkers": 3,
        "concurrency": 4,
        "maxAttempts": 10,
        "idleTimeoutSeconds": 5,
    }
    answer = await api.post(FUNCTIONS, asked)
    assert answer.status == 201, answer.body
    return str(answer.data["name"])


async def submitted(system: LocalSystem, world: FunctionWorld, name: str) -> None:
    """Ask until it is accepted, whoever is down meanwhile: the id makes it one invocation."""
    body = {
        "serverlessRequestID": world.request_id,
        "invocationID": name,
        "attributes": {"sleepSeconds": 0.5},
    }

    async def ask() -> int:
        api = Caller(system.environment()["BASE_URL"], seconds=10)
        return (await api.post(INVOCATIONS, body)).status

    unreachable = (aiohttp.ClientError, TimeoutError, OSError)
    status = await eventually(
        ask, lambda found: found in (200, 202), seconds=SECONDS, tolerate=unreachable
    )
    assert status in (200, 202)
    world.accepted.append(f"{world.request_id}.{name}")


async def processes_of(system: LocalSystem, container: str) -> dict[str, int]:
    """Processes of pods, by the names of pod and container."""
    return {name: pid for name, pid in system.running().items() if name.endswith(container)}


def kill(system: LocalSystem, *names: str) -> None:
    for name, pid in system.running().items():
        if name in names:
            psutil.Process(pid).kill()


async def state_of(api: Caller, function: str, name: str) -> Any:
    return (await api.get(f"{INVOCATIONS}/{function}/{name}")).data["state"]


async def test_the_story_of_a_function(system: LocalSystem) -> None:
    calls, scaling, ends = blocks(ROOT / "README.md", "A function from zero to many and back")

    told = await shell(system, calls)
    assert '"state": "queued"' in told
    assert re.search(r'"invocationID": "first".*"state": "succeeded"', told), told
    assert '"body": "hello again"' in told

    told = await shell(system, scaling)
    assert re.search(r"function\S+/echo\s+c1\.1\s+4\s+4\s", told), told
    assert re.search(r"function\S+/echo\s+c1\.1\s.*Idle", told), told
    assert "gpuunit" not in told.rpartition("Idle")[2]

    told = await shell(system, ends)
    assert re.search(r'"invocationID": "slow".*"state": "cancelled"', told), told
    assert re.search(r'"invocationID": "unlucky".*"state": "dead_lettered", "run": 1', told), told
    assert '"failureClass":"attempts_exhausted"' in told
    assert re.search(r'"invocationID": "unlucky".*"state": "dead_lettered", "run": 2', told), told


async def test_the_promise_holds_whoever_is_killed(system: LocalSystem, tmp_path: Path) -> None:
    notebook = tmp_path / "notebook"
    api = Caller(system.environment()["BASE_URL"])
    function = await a_noting_function(api, notebook)
    async with looking_at(system, function) as world, asyncio.TaskGroup() as callers:
        for number in range(60):
            callers.create_task(submitted(system, world, f"early-{number}"))
        workers = await eventually(lambda: processes_of(system, "/worker"), seconds=SECONDS)
        await eventually(lambda: asyncio.sleep(0, notebook.exists()), seconds=SECONDS)
        kill(system, next(iter(workers)))
        for name in ("activator", "runtime-api", "nats-server"):
            kill(system, name)
            for number in range(10):
                callers.create_task(submitted(system, world, f"while-{name}-{number}"))
            await system.up()
    async with looking_at(system, function) as after:
        after.accepted = world.accepted
        await eventually(after.seen, is_over, seconds=SECONDS)
        after.executions = executions(notebook)
        await after.over(seconds=SECONDS)
    states = {await state_of(api, function, key.partition(".")[2]) for key in world.accepted}
    assert states == {"succeeded"}
    assert len(world.accepted) == 90
