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
from tests.bench.reports import LatencyReport, summary
from tests.bench.table import Measure, measured
from tests.support.cluster.local_system import LocalSystem
from tests.support.http.api_client import Caller
from tests.support.wait.eventually import eventually

COUNT = 100
ROUNDS = 2
STARTS = 2
WAITING = 20
SPEC = "c1.1"
SPARE = 4  # what the pool of the local system keeps ready
CRASHING = {"template": {"command": ["python", "-c", "raise SystemExit('no model')"]}}
BROKEN: tuple[dict[str, Any], ...] = (
    CRASHING,
    CRASHING,
    CRASHING,
    {"image": "local/nowhere"},
    {"specName": "sold-out"},
)


async def isolation_measures() -> list[Measure]:
    """All that `make up` starts; without the others, with them, and once more without.

    Of each side the best of its rounds, for whatever else the machine does comes and goes.
    """
    async with local_api() as api:
        good = await a_function(api, "good", minWorkers=1)
        await says(api, good, "Ready")
        await echoes(api, good, "warm")
        alone, first_alone = await rounds(api, good, "before"), await starts(api, "alone")
        async with hopeless(api):
            beside, first_beside = await rounds(api, good, "beside"), await starts(api, "beside")
        alone += await rounds(api, good, "after")
    best, anchor = quickest(beside), quickest(alone)
    others = f"beside {len(BROKEN)} functions that cannot start, against alone"
    return [
        measured(f"sync echo {others}, p50", best.p50, anchor.p50, "about 1x"),
        measured(f"sync echo {others}, p99", best.p99, anchor.p99),
        measured(f"first echo of a function {others}", first_beside, first_alone, "about 1x"),
    ]


@asynccontextmanager
async def local_api() -> AsyncIterator[Caller]:
    """The API of a local system, which has the length of the block."""
    home = Path(tempfile.mkdtemp(prefix="bench-"))
    system = LocalSystem(home / "local")
    try:
        await system.up()
        yield Caller(system.environment()["BASE_URL"])
    finally:
        await system.down()
        shutil.rmtree(home)


@asynccontextmanager
async def hopeless(api: Caller) -> AsyncIterator[None]:
    """Functions with work that nobody will ever do, for the length of the block."""
    names = [f"broken-{number}" for number in range(len(BROKEN))]
    async with asyncio.TaskGroup() as group:
        for name, spec in zip(names, BROKEN, strict=True):
            group.create_task(degraded(api, name, spec))
    yield
    for name in names:
        await api.delete(f"{FUNCTIONS}/{name}?purge=true")
    for name in names:
        await eventually(
            lambda name=name: api.get(f"{FUNCTIONS}/{name}"),  # type: ignore[misc]
            lambda answer: answer.status == 404,
        )


async def degraded(api: Caller, name: str, spec: dict[str, Any]) -> None:
    """One such function, once it is known that it has no worker."""
    await a_function(api, name, **spec)
    for number in range(WAITING):
        asked = {"serverlessRequestID": name, "invocationID": f"n{number}", "payload": number}
        assert (await api.post(INVOCATIONS, asked)).status == 202
    await says(api, name, "Degraded")


async def rounds(api: Caller, function: str, series: str) -> list[LatencyReport]:
    """Some rounds of echoes."""
    return [await echoes(api, function, f"{series}-{number}") for number in range(ROUNDS)]


def quickest(found: list[LatencyReport]) -> LatencyReport:
    return min(found, key=lambda each: each.p50)


async def echoes(api: Caller, function: str, series: str) -> LatencyReport:
    """One after the other, each waited for."""
    return summary([await echoed(api, function, f"{series}-{each}") for each in range(COUNT)])


async def starts(api: Caller, series: str) -> float:
    """The quickest first call of some new functions; a place is ready for each worker."""
    seconds = []
    for number in range(STARTS):
        await eventually(lambda: spare(api), lambda count: count == SPARE)
        name = await a_function(api, f"{series}-{number}")
        await says(api, name, "Idle")
        seconds.append(await echoed(api, name, "first"))
    return min(seconds)


async def echoed(api: Caller, function: str, name: str) -> float:
    """Seconds from the request to the outcome."""
    asked = {"invocationID": name, "mode": "sync", "waitSeconds": 50, "payload": name}
    began = time.perf_counter()
    answer = await api.post(INVOCATIONS, {"serverlessRequestID": function, **asked})
    seconds = time.perf_counter() - began
    assert (answer.status, answer.data["state"]) == (200, "succeeded"), answer.body
    return seconds


async def a_function(api: Caller, name: str, **spec: Any) -> str:
    """One that echoes, unless `spec` keeps it from that."""
    named = {"operationID": name, "name": name, "specName": SPEC, "image": "local/echo"}
    answer = await api.post(FUNCTIONS, {**named, **spec})
    assert answer.status == 201, answer.body
    return name


async def says(api: Caller, name: str, phase: str) -> None:
    await eventually(
        lambda: api.get(f"{FUNCTIONS}/{name}"), lambda answer: answer.data.get("phase") == phase
    )


async def spare(api: Caller) -> int:
    """How many places for workers are ready."""
    found = (await api.get(f"{STOCK}?specName={SPEC}&phase=Ready")).data
    return sum("claimedBy" not in each for each in found)
