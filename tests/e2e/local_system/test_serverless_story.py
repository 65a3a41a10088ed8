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

TIMEOUT_SECONDS = 240.0
UNREACHABLE = (aiohttp.ClientError, TimeoutError, OSError)


@pytest.fixture(scope="module")
def system(run_dir: Path) -> Iterator[LocalSystem]:
    """Bring up a new system, as a new user would."""
    local = LocalSystem(run_dir / "serverless" / "local")
    asyncio.run(local.up())
    yield local
    asyncio.run(local.down())


@asynccontextmanager
async def open_harness(system: LocalSystem, function: str) -> AsyncIterator[FunctionHarness]:
    """Yield a view of a function in the queue that survives restarts of the server."""
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


async def create_recording_function(api: ApiClient, calls_file: Path) -> str:
    """Create a function that logs its calls to a file.

    It has enough workers that some can be killed.
    """
    body = {
        "operationID": "create-recorder",
        "name": "recorder",
        "specName": "c1.1",
        "image": "local/recorder",
        "template": {
            "command": ["python", "-m", "tests.support.queue.recording_function"],
            "envs": [{"name": CALLS_FILE_VARIABLE, "value": str(calls_file)}],
        },
        "maxWorkers": 3,
        "concurrency": 4,
        "maxAttempts": 10,
        "idleTimeoutSeconds": 5,
    }
    response = await api.post(FUNCTIONS, body)
    assert response.status == 201, response.body
    return str(response.data["name"])


class Callers:
    """Callers that retry on any replica until they get a response.

    A retry has the same id, so it is the same invocation.
    """

    def __init__(
        self, urls: list[str], harness: FunctionHarness, randomness: random.Random
    ) -> None:
        self._replicas = [ApiClient(url, seconds=10) for url in urls]
        self._harness = harness
        self._randomness = randomness

    async def submit(self, name: str) -> None:
        """Send the invocation until it is accepted or has its outcome.

        Processes may be down meanwhile.
        """
        body = {
            "serverlessRequestID": self._harness.function_name,
            "invocationID": name,
            "mode": self._randomness.choice(["async", "sync"]),
            "waitSeconds": 5,
            "attributes": {"sleepSeconds": 0.5},
        }
        await eventually(
            lambda: self._any().post(INVOCATIONS, body),
            lambda response: response.status in (200, 202),
            timeout_seconds=TIMEOUT_SECONDS,
            tolerate=UNREACHABLE,
        )
        self._harness.accepted.append(f"{self._harness.function_name}.{name}")

    async def state_of(self, name: str) -> Any:
        path = f"{INVOCATIONS}/{self._harness.function_name}/{name}"
        response = await eventually(
            lambda: self._any().get(path),
            lambda response: response.status == 200,
            tolerate=UNREACHABLE,
        )
        return response.data["state"]

    def _any(self) -> ApiClient:
        return self._randomness.choice(self._replicas)


@asynccontextmanager
async def more_replicas(
    system: LocalSystem, folder: Path
) -> AsyncIterator[dict[str, ProductProcess]]:
    """Run two more replicas of the API beside the replica of the system; return them by name."""
    async with (
        system.run_another_api(folder / "second") as second,
        system.run_another_api(folder / "third") as third,
    ):
        yield {"second": second, "third": third}


async def test_the_documented_function_commands_work(system: LocalSystem) -> None:
    calls, scaling, ends = shell_blocks(ROOT / "README.md", "A function from zero to many and back")

    output = await run_documented_commands(system, calls)
    assert '"state":"queued"' in output
    assert re.search(r'"invocationID":"first".*"state":"succeeded"', output), output
    assert '"body":"hello again"' in output

    output = await run_documented_commands(system, scaling)
    assert re.search(r"function\S+/echo\s+c1\.1\s+4\s+4\s", output), output
    assert re.search(r"function\S+/echo\s+c1\.1\s.*Idle", output), output
    assert "gpuunit" not in output.rpartition("Idle")[2]

    output = await run_documented_commands(system, ends)
    assert re.search(r'"invocationID":"slow".*"state":"cancelled"', output), output
    assert re.search(r'"invocationID":"unlucky".*"state":"dead_lettered","run":1', output), output
    assert '"failureClass":"attempts_exhausted"' in output
    assert re.search(r'"invocationID":"unlucky".*"state":"dead_lettered","run":2', output), output


@pytest.mark.parametrize("seed", draw_seeds("kills"))
async def test_invocations_run_exactly_once_while_processes_are_killed(
    system: LocalSystem, tmp_path: Path, seed: int
) -> None:
    calls_file, first = tmp_path / "calls", system.environment()["BASE_URL"]
    function = await create_recording_function(ApiClient(first), calls_file)
    async with (
        more_replicas(system, tmp_path) as replicas,
        open_harness(system, function) as harness,
    ):
        urls = [first, *(replica.url for replica in replicas.values())]
        callers = Callers(urls, harness, random.Random(seed))
        processes = {name: replica.process for name, replica in replicas.items()}
        kills = RandomKiller(
            system, processes, random.Random(seed)
        )  # independent of what the callers do
        async with asyncio.TaskGroup() as calls:
            for number in range(40):
                calls.create_task(callers.submit(f"early-{number}"))
            await eventually(
                lambda: asyncio.sleep(0, calls_file.exists()), timeout_seconds=TIMEOUT_SECONDS
            )
            for round_number, victim in enumerate(kills.random_victims()):
                for number in range(4):
                    calls.create_task(callers.submit(f"before-{round_number}-{number}"))
                await kills.kill(victim)
                for number in range(4):
                    calls.create_task(callers.submit(f"after-{round_number}-{number}"))
                await kills.restart(victim)
        await eventually(
            harness.snapshot,
            is_finished,
            timeout_seconds=TIMEOUT_SECONDS,
            tolerate=nats.errors.Error,
        )
        harness.executions = read_executions(calls_file)
        await harness.wait_finished(timeout_seconds=TIMEOUT_SECONDS)
        states = {await callers.state_of(key.partition(".")[2]) for key in harness.accepted}
    assert states == {"succeeded"}
    assert len(harness.accepted) == len(set(harness.accepted)) == 104
