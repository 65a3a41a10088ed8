"""Serverless on the system that `make up` starts: the README and the guarantees under kills."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import nats
import nats.errors
import pytest

from apiserver.http.paths import FUNCTIONS, INVOCATIONS
from hack.local.state_dir import ROOT
from tests.runner.seeds import draw_seeds
from tests.support.checks.documented_commands import run_documented_commands, shell_blocks
from tests.support.checks.invocation_checks import is_finished
from tests.support.cluster.local_system import LocalSystem
from tests.support.cluster.product_processes import ProductProcess
from tests.support.faults.random_kills import RandomKiller
from tests.support.http.api_client import ApiClient
from tests.support.queue.function_harness import FunctionHarness, ignore_error
from tests.support.queue.recording_function import CALLS_FILE_VARIABLE, read_executions
from tests.support.wait.eventually import eventually

SECONDS = 240.0
UNREACHABLE = (aiohttp.ClientError, TimeoutError, OSError)


@pytest.fixture(scope="module")
def system(run_dir: Path) -> Iterator[LocalSystem]:
    """Bring up a new system, as a new user would."""
    local = LocalSystem(run_dir / "serverless" / "local")
    asyncio.run(local.up())
    yield local
    asyncio.run(local.down())


@asynccontextmanager
async def looking_at(system: LocalSystem, function: str) -> AsyncIterator[FunctionHarness]:
    """Yield a view of all that the queue holds of a function, while servers stop and start."""
    client = await nats.connect(
        system.environment()["NATS_URL"],
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.2,
        error_cb=ignore_error,
    )
    try:
        yield FunctionHarness(client, function)
    finally:
        await client.close()


async def a_noting_function(api: ApiClient, notebook: Path) -> str:
    """Create a function that logs its calls to a file.

    It has enough workers that some can be killed.
    """
    asked = {
        "operationID": "make-noting",
        "name": "noting",
        "specName": "c1.1",
        "image": "local/noting",
        "template": {
            "command": ["python", "-m", "tests.support.queue.recording_function"],
            "envs": [{"name": CALLS_FILE_VARIABLE, "value": str(notebook)}],
        },
        "maxWorkers": 3,
        "concurrency": 4,
        "maxAttempts": 10,
        "idleTimeoutSeconds": 5,
    }
    answer = await api.post(FUNCTIONS, asked)
    assert answer.status == 201, answer.body
    return str(answer.data["name"])


class Callers:
    """Callers that retry on any replica until they get an answer.

    The id makes it one invocation.
    """

    def __init__(self, urls: list[str], world: FunctionHarness, randomness: random.Random) -> None:
        self._replicas = [ApiClient(url, seconds=10) for url in urls]
        self._world = world
        self._randomness = randomness

    async def submit(self, name: str) -> None:
        """Send the invocation until it is accepted or has its outcome.

        Processes may be down meanwhile.
        """
        body = {
            "serverlessRequestID": self._world.function_name,
            "invocationID": name,
            "mode": self._randomness.choice(["async", "sync"]),
            "waitSeconds": 5,
            "attributes": {"sleepSeconds": 0.5},
        }
        await eventually(
            lambda: self._any().post(INVOCATIONS, body),
            lambda answer: answer.status in (200, 202),
            timeout_seconds=SECONDS,
            tolerate=UNREACHABLE,
        )
        self._world.accepted.append(f"{self._world.function_name}.{name}")

    async def state_of(self, name: str) -> Any:
        path = f"{INVOCATIONS}/{self._world.function_name}/{name}"
        answer = await eventually(
            lambda: self._any().get(path),
            lambda answer: answer.status == 200,
            tolerate=UNREACHABLE,
        )
        return answer.data["state"]

    def _any(self) -> ApiClient:
        return self._randomness.choice(self._replicas)


@asynccontextmanager
async def more_replicas(
    system: LocalSystem, home: Path
) -> AsyncIterator[dict[str, ProductProcess]]:
    """Run two more replicas of the API beside the replica of the system; return them by name."""
    async with (
        system.run_another_api(home / "second") as second,
        system.run_another_api(home / "third") as third,
    ):
        yield {"second": second, "third": third}


async def test_the_documented_function_commands_work(system: LocalSystem) -> None:
    calls, scaling, ends = shell_blocks(ROOT / "README.md", "A function from zero to many and back")

    told = await run_documented_commands(system, calls)
    assert '"state":"queued"' in told
    assert re.search(r'"invocationID":"first".*"state":"succeeded"', told), told
    assert '"body":"hello again"' in told

    told = await run_documented_commands(system, scaling)
    assert re.search(r"function\S+/echo\s+c1\.1\s+4\s+4\s", told), told
    assert re.search(r"function\S+/echo\s+c1\.1\s.*Idle", told), told
    assert "gpuunit" not in told.rpartition("Idle")[2]

    told = await run_documented_commands(system, ends)
    assert re.search(r'"invocationID":"slow".*"state":"cancelled"', told), told
    assert re.search(r'"invocationID":"unlucky".*"state":"dead_lettered","run":1', told), told
    assert '"failureClass":"attempts_exhausted"' in told
    assert re.search(r'"invocationID":"unlucky".*"state":"dead_lettered","run":2', told), told


@pytest.mark.parametrize("seed", draw_seeds("kills"))
async def test_invocations_run_exactly_once_while_processes_are_killed(
    system: LocalSystem, tmp_path: Path, seed: int
) -> None:
    notebook, first = tmp_path / "notebook", system.environment()["BASE_URL"]
    function = await a_noting_function(ApiClient(first), notebook)
    async with (
        more_replicas(system, tmp_path) as replicas,
        looking_at(system, function) as world,
    ):
        urls = [first, *(each.url for each in replicas.values())]
        callers = Callers(urls, world, random.Random(seed))
        processes = {name: each.process for name, each in replicas.items()}
        kills = RandomKiller(
            system, processes, random.Random(seed)
        )  # independent of what the callers do
        async with asyncio.TaskGroup() as calls:
            for number in range(40):
                calls.create_task(callers.submit(f"early-{number}"))
            await eventually(lambda: asyncio.sleep(0, notebook.exists()), timeout_seconds=SECONDS)
            for turn, victim in enumerate(kills.random_victims()):
                for number in range(4):
                    calls.create_task(callers.submit(f"before-{turn}-{number}"))
                await kills.kill(victim)
                for number in range(4):
                    calls.create_task(callers.submit(f"after-{turn}-{number}"))
                await kills.restart(victim)
        await eventually(
            world.snapshot, is_finished, timeout_seconds=SECONDS, tolerate=nats.errors.Error
        )
        world.executions = read_executions(notebook)
        await world.wait_finished(timeout_seconds=SECONDS)
        states = {await callers.state_of(key.partition(".")[2]) for key in world.accepted}
    assert states == {"succeeded"}
    assert len(world.accepted) == len(set(world.accepted)) == 104
