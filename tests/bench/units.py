"""Units from created to Ready: our controller beside one on controller-runtime."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

import psutil

from tests.bench.audit import counted
from tests.bench.connection import Connection, connected
from tests.bench.reports import LatencyReport, summary
from tests.bench.table import Measure, measured
from tests.bench.unit_contenders import UnitContender, controller_runtime, our_controller
from tests.bench.unit_load import (
    PODS,
    UNITS,
    WORKERS,
    Sightings,
    create_all,
    ready_unit,
    unit_of_bound_pod,
    unit_of_ready_pod,
    watching,
)
from tests.bench.units_plane import UnitsPlane, units_plane

LONGEST_SECONDS = 600.0
SETTLE_SECONDS = 3.0  # Events are written behind, and a write too many would come now
MEBIBYTE = 2**20


@dataclass(frozen=True)
class UnitsReport:
    """What one controller needed for all units, on a cluster of its own."""

    wall: float
    creating: float
    ready: LatencyReport
    bound: LatencyReport
    running: LatencyReport
    writes: Counter[str]
    rss: float
    cpu_seconds: float
    server_cpu_seconds: float


async def units_measures(count: int) -> list[Measure]:
    """Both controllers, each on a new cluster."""
    theirs = await one_run(controller_runtime(), count)
    ours = await one_run(our_controller(), count)
    return rows(count, ours, theirs)


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
        rss = controller.memory_info().rss
        await asyncio.sleep(SETTLE_SECONDS)
    began = min(sent.values())
    return UnitsReport(
        wall=max(ready.at.values()) - began,
        creating=max(sent.values()) - began,
        ready=since(sent, ready.at),
        bound=since(sent, bound.at),
        running=since(sent, running.at),
        writes=counted(cluster.audit_log),
        rss=rss / MEBIBYTE,
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


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def rows(count: int, ours: UnitsReport, theirs: UnitsReport) -> list[Measure]:
    """The table's rows; the account's writes are told apart by the server."""
    what = "unit created to"
    return [
        measured(f"{count:,} units created to Ready, wall", ours.wall, theirs.wall, "<= 1.1x"),
        measured(f"{what} Ready, p50", ours.ready.p50, theirs.ready.p50, "<= 0.7x"),
        measured(f"{what} Ready, p99", ours.ready.p99, theirs.ready.p99),
        measured(f"{what} pod bound, p50", ours.bound.p50, theirs.bound.p50),
        measured(f"{what} pod bound, p99", ours.bound.p99, theirs.bound.p99),
        measured(f"{what} pod ready, p50", ours.running.p50, theirs.running.p50),
        measured(f"{what} pod ready, p99", ours.running.p99, theirs.running.p99),
        measured(
            "writes a unit besides Events",
            ours.writes.total() / count,
            theirs.writes.total() / count,
            "<= 4",
            "writes",
        ),
        measured("RSS of the controller of units", ours.rss, theirs.rss, "", "MiB"),
        measured("CPU of the controller of units", ours.cpu_seconds, theirs.cpu_seconds),
        measured(
            "CPU of the API server meanwhile", ours.server_cpu_seconds, theirs.server_cpu_seconds
        ),
    ]
