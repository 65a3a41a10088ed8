"""A function alone, and beside functions whose workers cannot start."""

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
READY_STOCK_COUNT = 4  # the size of the local system's pool
CRASHING = {"template": {"command": ["python", "-c", "raise SystemExit('no model')"]}}
BROKEN_SPECS: tuple[dict[str, Any], ...] = (
    CRASHING,
    CRASHING,
    CRASHING,
    {"image": "local/nowhere"},
    {"specName": "sold-out"},
)


async def measure_isolation() -> list[Measure]:
    """Measure on the system of `make up`: without other functions, with them, and without again.

    Of each side the best round counts, because other load on the machine varies.
    """
    async with run_local_api() as api:
        function = await create_function(api, "good", minWorkers=1)
        await wait_phase(api, function, "Ready")
        await measure_echoes(api, function, "warm")
        alone, first_alone = (
            await measure_rounds(api, function, "before"),
            await fastest_cold_start(api, "alone"),
        )
        async with run_broken_functions(api):
            with_others, first_with_others = (
                await measure_rounds(api, function, "beside"),
                await fastest_cold_start(api, "beside"),
            )
        alone += await measure_rounds(api, function, "after")
    best, anchor = fastest_round(with_others), fastest_round(alone)
    comparison = f"beside {len(BROKEN_SPECS)} functions that cannot start, against alone"
    return [
        new_measure(f"sync echo {comparison}, p50", best.p50, anchor.p50, "about 1x"),
        new_measure(f"sync echo {comparison}, p99", best.p99, anchor.p99),
        new_measure(
            f"first echo of a function {comparison}", first_with_others, first_alone, "about 1x"
        ),
    ]


@asynccontextmanager
async def run_local_api() -> AsyncIterator[ApiClient]:
    """Run a local system for the length of the block; yield a client of its API."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    system = LocalSystem(folder / "local")
    try:
        await system.up()
        yield ApiClient(system.environment()["BASE_URL"])
    finally:
        await system.down()
        shutil.rmtree(folder)


@asynccontextmanager
async def run_broken_functions(api: ApiClient) -> AsyncIterator[None]:
    """Create functions whose invocations never run, for the length of the block."""
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
            lambda response: response.status == 404,
        )


async def create_degraded_function(api: ApiClient, name: str, spec: dict[str, Any]) -> None:
    """Create a function with queued invocations, and wait until it is Degraded."""
    await create_function(api, name, **spec)
    for number in range(QUEUED_COUNT):
        body = {"serverlessRequestID": name, "invocationID": f"n{number}", "payload": number}
        assert (await api.post(INVOCATIONS, body)).status == 202
    await wait_phase(api, name, "Degraded")


async def measure_rounds(api: ApiClient, function: str, series: str) -> list[LatencyReport]:
    """Measure some rounds of echoes."""
    return [await measure_echoes(api, function, f"{series}-{number}") for number in range(ROUNDS)]


def fastest_round(reports: list[LatencyReport]) -> LatencyReport:
    return min(reports, key=lambda report: report.p50)


async def measure_echoes(api: ApiClient, function: str, series: str) -> LatencyReport:
    """Measure echoes one after the other."""
    return summarise(
        [await time_sync_call(api, function, f"{series}-{number}") for number in range(CALL_COUNT)]
    )


async def fastest_cold_start(api: ApiClient, series: str) -> float:
    """Return the fastest first call of some new functions, with ready stock for each worker."""
    seconds = []
    for number in range(COLD_START_COUNT):
        await eventually(lambda: count_ready_stock(api), lambda count: count == READY_STOCK_COUNT)
        name = await create_function(api, f"{series}-{number}")
        await wait_phase(api, name, "Idle")
        seconds.append(await time_sync_call(api, name, "first"))
    return min(seconds)


async def time_sync_call(api: ApiClient, function: str, name: str) -> float:
    """Return the seconds from the request to the outcome."""
    body = {"invocationID": name, "mode": "sync", "waitSeconds": 50, "payload": name}
    began = time.perf_counter()
    response = await api.post(INVOCATIONS, {"serverlessRequestID": function, **body})
    seconds = time.perf_counter() - began
    assert (response.status, response.data["state"]) == (200, "succeeded"), response.body
    return seconds


async def create_function(api: ApiClient, name: str, **spec: Any) -> str:
    """Create a function that echoes, unless `spec` changes it."""
    body = {"operationID": name, "name": name, "specName": SPEC, "image": "local/echo"}
    response = await api.post(FUNCTIONS, {**body, **spec})
    assert response.status == 201, response.body
    return name


async def wait_phase(api: ApiClient, name: str, phase: str) -> None:
    await eventually(
        lambda: api.get(f"{FUNCTIONS}/{name}"), lambda response: response.data.get("phase") == phase
    )


async def count_ready_stock(api: ApiClient) -> int:
    """Return the number of ready unclaimed stock units for workers."""
    stock = (await api.get(f"{STOCK}?specName={SPEC}&phase=Ready")).data
    return sum("claimedBy" not in unit for unit in stock)
