"""A function alone, and the same beside others whose workers cannot start while work waits."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from apiserver.http.paths import FUNCTIONS, INVOCATIONS, STOCK
from tests.bench.reports import LatencyReport, summarise
from tests.bench.table import Measure, new_measure
from tests.support.cluster.local_system import LocalSystem
from tests.support.http.api_client import ApiClient
from tests.support.wait.eventually import eventually

CALL_COUNT = 100
ROUNDS = 2
COLD_START_COUNT = 2
QUEUED_COUNT = 20
SPEC = "c1.1"
READY_STOCK_COUNT = 4  # what the pool of the local system keeps ready
CRASHING = {"template": {"command": ["python", "-c", "raise SystemExit('no model')"]}}
BROKEN_SPECS: tuple[dict[str, Any], ...] = (
    CRASHING,
    CRASHING,
    CRASHING,
    {"image": "local/nowhere"},
    {"specName": "sold-out"},
)


async def measure_isolation() -> list[Measure]:
    """All that `make up` starts; without the others, with them, and once more without.

    Of each side the best of its rounds, for whatever else the machine does comes and goes.
    """
    async with run_local_api() as api:
        good = await create_function(api, "good", minWorkers=1)
        await wait_phase(api, good, "Ready")
        await measure_echoes(api, good, "warm")
        alone, first_alone = (
            await measure_rounds(api, good, "before"),
            await fastest_cold_start(api, "alone"),
        )
        async with run_broken_functions(api):
            beside, first_beside = (
                await measure_rounds(api, good, "beside"),
                await fastest_cold_start(api, "beside"),
            )
        alone += await measure_rounds(api, good, "after")
    best, anchor = fastest_round(beside), fastest_round(alone)
    others = f"beside {len(BROKEN_SPECS)} functions that cannot start, against alone"
    return [
        new_measure(f"sync echo {others}, p50", best.p50, anchor.p50, "about 1x"),
        new_measure(f"sync echo {others}, p99", best.p99, anchor.p99),
        new_measure(f"first echo of a function {others}", first_beside, first_alone, "about 1x"),
    ]


@asynccontextmanager
async def run_local_api() -> AsyncIterator[ApiClient]:
    """The API of a local system, which has the length of the block."""
    home = Path(tempfile.mkdtemp(prefix="bench-"))
    system = LocalSystem(home / "local")
    try:
        await system.up()
        yield ApiClient(system.environment()["BASE_URL"])
    finally:
        await system.down()
        shutil.rmtree(home)


@asynccontextmanager
async def run_broken_functions(api: ApiClient) -> AsyncIterator[None]:
    """Functions with work that nobody will ever do, for the length of the block."""
    names = [f"broken-{number}" for number in range(len(BROKEN_SPECS))]
    async with asyncio.TaskGroup() as group:
        for name, spec in zip(names, BROKEN_SPECS, strict=True):
            group.create_task(create_degraded_function(api, name, spec))
    yield
    for name in names:
        await api.delete(f"{FUNCTIONS}/{name}?purge=true")
    for name in names:
        await eventually(
            lambda name=name: api.get(f"{FUNCTIONS}/{name}"),  # type: ignore[misc]
            lambda answer: answer.status == 404,
        )


async def create_degraded_function(api: ApiClient, name: str, spec: dict[str, Any]) -> None:
    """One such function, once it is known that it has no worker."""
    await create_function(api, name, **spec)
    for number in range(QUEUED_COUNT):
        asked = {"serverlessRequestID": name, "invocationID": f"n{number}", "payload": number}
        assert (await api.post(INVOCATIONS, asked)).status == 202
    await wait_phase(api, name, "Degraded")


async def measure_rounds(api: ApiClient, function: str, series: str) -> list[LatencyReport]:
    """Some rounds of echoes."""
    return [await measure_echoes(api, function, f"{series}-{number}") for number in range(ROUNDS)]


def fastest_round(reports: list[LatencyReport]) -> LatencyReport:
    return min(reports, key=lambda each: each.p50)


async def measure_echoes(api: ApiClient, function: str, series: str) -> LatencyReport:
    """One after the other, each waited for."""
    return summarise(
        [await time_sync_call(api, function, f"{series}-{each}") for each in range(CALL_COUNT)]
    )


async def fastest_cold_start(api: ApiClient, series: str) -> float:
    """The quickest first call of some new functions; a place is ready for each worker."""
    seconds = []
    for number in range(COLD_START_COUNT):
        await eventually(lambda: count_ready_stock(api), lambda count: count == READY_STOCK_COUNT)
        name = await create_function(api, f"{series}-{number}")
        await wait_phase(api, name, "Idle")
        seconds.append(await time_sync_call(api, name, "first"))
    return min(seconds)


async def time_sync_call(api: ApiClient, function: str, name: str) -> float:
    """Seconds from the request to the outcome."""
    asked = {"invocationID": name, "mode": "sync", "waitSeconds": 50, "payload": name}
    began = time.perf_counter()
    answer = await api.post(INVOCATIONS, {"serverlessRequestID": function, **asked})
    seconds = time.perf_counter() - began
    assert (answer.status, answer.data["state"]) == (200, "succeeded"), answer.body
    return seconds


async def create_function(api: ApiClient, name: str, **spec: Any) -> str:
    """One that echoes, unless `spec` keeps it from that."""
    named = {"operationID": name, "name": name, "specName": SPEC, "image": "local/echo"}
    answer = await api.post(FUNCTIONS, {**named, **spec})
    assert answer.status == 201, answer.body
    return name


async def wait_phase(api: ApiClient, name: str, phase: str) -> None:
    await eventually(
        lambda: api.get(f"{FUNCTIONS}/{name}"), lambda answer: answer.data.get("phase") == phase
    )


async def count_ready_stock(api: ApiClient) -> int:
    """How many places for workers are ready."""
    found = (await api.get(f"{STOCK}?specName={SPEC}&phase=Ready")).data
    return sum("claimedBy" not in each for each in found)
