"""Units from created to Ready: our controller compared with one on controller-runtime."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass

import psutil

from tests.bench.connection import Connection, open_connection
from tests.bench.controller.audit_log import count_writes
from tests.bench.controller.first_seen import (
    FirstSeenTimes,
    ready_unit_name,
    record_first_seen,
    unit_of_bound_pod,
    unit_of_ready_pod,
)
from tests.bench.controller.unit_cluster import UnitBenchCluster, run_unit_bench_cluster
from tests.bench.controller.unit_contenders import (
    UnitContender,
    controller_runtime_contender,
    our_controller_contender,
)
from tests.bench.controller.unit_load import CREATOR_COUNT, PODS_PATH, UNITS_PATH, create_units
from tests.bench.reports import LatencyReport, summarise
from tests.bench.table import Measure, new_measure
from tests.bench.usage import resident_mebibytes, used_cpu_seconds

ROUNDS = 2
MAX_SECONDS = 600.0
SETTLE_SECONDS = 3.0  # Events are written later, and a superfluous write would happen now
ROW_PREFIX = "unit created to"


@dataclass(frozen=True)
class UnitsReport:
    """The time, writes, memory and CPU of one controller for all units, on its own cluster."""

    wall: float
    ready: LatencyReport
    bound: LatencyReport
    running: LatencyReport
    writes: Counter[str]
    rss: float
    cpu_seconds: float
    server_cpu_seconds: float


async def measure_units(count: int) -> list[Measure]:
    """Measure all controllers in turn, each on a new cluster; return the better run of each."""
    contenders = (
        our_controller_contender(),
        controller_runtime_contender(),
        controller_runtime_contender("-fifo"),
    )
    runs = [
        [await run_contender(contender, count) for contender in contenders] for _ in range(ROUNDS)
    ]
    ours, theirs, fifo = (min(reports, key=wall_seconds) for reports in zip(*runs, strict=True))
    return rows(count, ours, theirs, fifo)


def wall_seconds(report: UnitsReport) -> float:
    return report.wall


async def run_contender(contender: UnitContender, count: int) -> UnitsReport:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(run_unit_bench_cluster(count))
        admin = await stack.enter_async_context(
            open_connection(cluster.control_plane, CREATOR_COUNT + 2)
        )
        process = await stack.enter_async_context(contender.run(cluster))
        assert process.pid is not None
        return await observe_run(cluster, admin, psutil.Process(process.pid), count)


async def observe_run(
    cluster: UnitBenchCluster, admin: Connection, controller: psutil.Process, count: int
) -> UnitsReport:
    """Create the units, wait until the last is Ready, and measure the cost."""
    ready = FirstSeenTimes(ready_unit_name, count)
    bound, running = (
        FirstSeenTimes(unit_of, count) for unit_of in (unit_of_bound_pod, unit_of_ready_pod)
    )
    server = psutil.Process(cluster.control_plane.kube_apiserver.pid)
    cpu_before, server_before = used_cpu_seconds(controller), used_cpu_seconds(server)
    async with (
        record_first_seen(admin, UNITS_PATH, ready),
        record_first_seen(admin, PODS_PATH, bound, running),
    ):
        sent = await create_units(admin, count)
        await wait_all_ready(ready, count)
        cpu_seconds, server_seconds = (
            used_cpu_seconds(controller) - cpu_before,
            used_cpu_seconds(server) - server_before,
        )
        rss = resident_mebibytes(controller)
        await asyncio.sleep(SETTLE_SECONDS)
    began = min(sent.values())
    return UnitsReport(
        wall=max(ready.seconds_by_unit.values()) - began,
        ready=latencies(sent, ready.seconds_by_unit),
        bound=latencies(sent, bound.seconds_by_unit),
        running=latencies(sent, running.seconds_by_unit),
        writes=count_writes(cluster.audit_log),
        rss=rss,
        cpu_seconds=cpu_seconds,
        server_cpu_seconds=server_seconds,
    )


async def wait_all_ready(ready: FirstSeenTimes, count: int) -> None:
    try:
        async with asyncio.timeout(MAX_SECONDS):
            await ready.all_seen.wait()
    except TimeoutError:
        message = (
            f"{len(ready.seconds_by_unit):,} of {count:,} units were Ready after {MAX_SECONDS:g} s"
        )
        raise UnitsError(message) from None


class UnitsError(Exception):
    """The units of a controller were not Ready in time."""


def latencies(sent_at: Mapping[str, float], seen_at: Mapping[str, float]) -> LatencyReport:
    return summarise([at - sent_at[name] for name, at in seen_at.items()])


def rows(count: int, ours: UnitsReport, theirs: UnitsReport, fifo: UnitsReport) -> list[Measure]:
    """Return the table's rows; the order of our queue is compared with a plain FIFO."""
    return [
        new_measure(f"{count:,} units created to Ready, wall", ours.wall, theirs.wall, "<= 1.1x"),
        new_measure(f"{count:,} units created to Ready, wall (FIFO)", None, fifo.wall),
        new_measure(f"{ROW_PREFIX} Ready, p50 (FIFO)", ours.ready.p50, fifo.ready.p50, "<= 0.7x"),
        *percentile_rows("Ready", ours.ready, theirs.ready),
        *percentile_rows("pod bound", ours.bound, theirs.bound),
        *percentile_rows("pod ready", ours.running, theirs.running),
        *cost_rows(count, ours, theirs),
    ]


def percentile_rows(milestone: str, ours: LatencyReport, theirs: LatencyReport) -> list[Measure]:
    return [
        new_measure(f"{ROW_PREFIX} {milestone}, p50", ours.p50, theirs.p50),
        new_measure(f"{ROW_PREFIX} {milestone}, p99", ours.p99, theirs.p99),
    ]


def cost_rows(count: int, ours: UnitsReport, theirs: UnitsReport) -> list[Measure]:
    writes = ours.writes.total() / count, theirs.writes.total() / count
    server = ours.server_cpu_seconds, theirs.server_cpu_seconds
    return [
        new_measure("writes a unit besides Events", *writes, "<= 4", "writes"),
        new_measure("RSS of the controller of units", ours.rss, theirs.rss, "", "MiB"),
        new_measure("CPU of the controller of units", ours.cpu_seconds, theirs.cpu_seconds),
        new_measure("CPU of the API server", *server),
    ]
