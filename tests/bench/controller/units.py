"""Units from created to Ready: our controller beside one on controller-runtime."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

import psutil

from tests.bench.connection import Connection, connected
from tests.bench.controller.audit_log import counted
from tests.bench.controller.first_seen import (
    Sightings,
    ready_unit,
    unit_of_bound_pod,
    unit_of_ready_pod,
    watching,
)
from tests.bench.controller.unit_cluster import UnitsPlane, units_plane
from tests.bench.controller.unit_contenders import UnitContender, controller_runtime, our_controller
from tests.bench.controller.unit_load import PODS, UNITS, WORKERS, create_all
from tests.bench.reports import LatencyReport, summary
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu, resident

ROUNDS = 2
LONGEST_SECONDS = 600.0
SETTLE_SECONDS = 3.0  # Events are written behind, and a write too many would come now
WHAT = "unit created to"


@dataclass(frozen=True)
class UnitsReport:
    """What one controller needed for all units, on a cluster of its own."""

    wall: float
    ready: LatencyReport
    bound: LatencyReport
    running: LatencyReport
    writes: Counter[str]
    rss: float
    cpu_seconds: float
    server_cpu_seconds: float


async def units_measures(count: int) -> list[Measure]:
    """All controllers in turn, each time on a new cluster, and the better run of each."""
    contenders = (our_controller(), controller_runtime(), controller_runtime("-fifo"))
    runs = [[await one_run(each, count) for each in contenders] for _ in range(ROUNDS)]
    ours, theirs, fifo = (min(each, key=wall_of) for each in zip(*runs, strict=True))
    return rows(count, ours, theirs, fifo)


def wall_of(report: UnitsReport) -> float:
    return report.wall


async def one_run(contender: UnitContender, count: int) -> UnitsReport:
    async with AsyncExitStack() as parts:
        cluster = await parts.enter_async_context(units_plane(count))
        admin = await parts.enter_async_context(connected(cluster.plane, WORKERS + 2))
        process = await parts.enter_async_context(contender.running(cluster))
        assert process.pid is not None
        return await observed(cluster, admin, psutil.Process(process.pid), count)


async def observed(
    cluster: UnitsPlane, admin: Connection, controller: psutil.Process, count: int
) -> UnitsReport:
    """Create the units, wait until the last is Ready, and look at what that took."""
    ready = Sightings(ready_unit, count)
    bound, running = (Sightings(of, count) for of in (unit_of_bound_pod, unit_of_ready_pod))
    server = psutil.Process(cluster.plane.kube_apiserver.pid)
    cpu_before, server_before = cpu(controller), cpu(server)
    async with watching(admin, UNITS, ready), watching(admin, PODS, bound, running):
        sent = await create_all(admin, count)
        await all_ready(ready, count)
        cpu_seconds, server_seconds = cpu(controller) - cpu_before, cpu(server) - server_before
        rss = resident(controller)
        await asyncio.sleep(SETTLE_SECONDS)
    began = min(sent.values())
    return UnitsReport(
        wall=max(ready.at.values()) - began,
        ready=since(sent, ready.at),
        bound=since(sent, bound.at),
        running=since(sent, running.at),
        writes=counted(cluster.audit_log),
        rss=rss,
        cpu_seconds=cpu_seconds,
        server_cpu_seconds=server_seconds,
    )


async def all_ready(ready: Sightings, count: int) -> None:
    try:
        async with asyncio.timeout(LONGEST_SECONDS):
            await ready.complete.wait()
    except TimeoutError:
        said = f"{len(ready.at):,} of {count:,} units were Ready after {LONGEST_SECONDS:g} s"
        raise UnitsError(said) from None


class UnitsError(Exception):
    """A controller did not get its units Ready."""


def since(sent: Mapping[str, float], seen: Mapping[str, float]) -> LatencyReport:
    return summary([at - sent[name] for name, at in seen.items()])


def rows(count: int, ours: UnitsReport, theirs: UnitsReport, fifo: UnitsReport) -> list[Measure]:
    """The table's rows; a plain FIFO is what the order of our queue is held against."""
    return [
        measured(f"{count:,} units created to Ready, wall", ours.wall, theirs.wall, "<= 1.1x"),
        measured(f"{count:,} units created to Ready, wall (FIFO)", None, fifo.wall),
        measured(f"{WHAT} Ready, p50 (FIFO)", ours.ready.p50, fifo.ready.p50, "<= 0.7x"),
        *percentiles("Ready", ours.ready, theirs.ready),
        *percentiles("pod bound", ours.bound, theirs.bound),
        *percentiles("pod ready", ours.running, theirs.running),
        *costs(count, ours, theirs),
    ]


def percentiles(what: str, ours: LatencyReport, theirs: LatencyReport) -> list[Measure]:
    return [
        measured(f"{WHAT} {what}, p50", ours.p50, theirs.p50),
        measured(f"{WHAT} {what}, p99", ours.p99, theirs.p99),
    ]


def costs(count: int, ours: UnitsReport, theirs: UnitsReport) -> list[Measure]:
    writes = ours.writes.total() / count, theirs.writes.total() / count
    server = ours.server_cpu_seconds, theirs.server_cpu_seconds
    return [
        measured("writes a unit besides Events", *writes, "<= 4", "writes"),
        measured("RSS of the controller of units", ours.rss, theirs.rss, "", "MiB"),
        measured("CPU of the controller of units", ours.cpu_seconds, theirs.cpu_seconds),
        measured("CPU of the API server meanwhile", *server),
    ]
