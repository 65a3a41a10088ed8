"""The benchmarks by name; each measures both sides in the same run, and returns table rows."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.bench.api.bursts import measure_bursts
from tests.bench.api.creates import measure_creates
from tests.bench.api.health import measure_health
from tests.bench.api.ingest import measure_ingest
from tests.bench.api.listings import measure_listings
from tests.bench.connection import Connection
from tests.bench.controller.idle_processes import measure_idle_processes
from tests.bench.controller.storages import measure_storages
from tests.bench.controller.units import measure_units
from tests.bench.library.bare_list import LIST_VARIANTS, time_list, time_streaming_list
from tests.bench.library.contender import Contender
from tests.bench.library.decode_cost import measure_footprint
from tests.bench.library.queues import measure_queues
from tests.bench.library.widget_crd import widget_namespace
from tests.bench.library.widget_load import change_widgets
from tests.bench.reports import LatencyReport
from tests.bench.serverless.drain import measure_drain
from tests.bench.serverless.echo import measure_echo
from tests.bench.serverless.isolation import measure_isolation
from tests.bench.table import Measure, new_measure

SYNC_RUNS = 3
CHANGE_RATES = (50, 100)
DRIVE_SECONDS = 10.0
PAUSE_SECONDS = 3.0  # the server has just sent all objects twice, and collects garbage
SETTLE_SECONDS = 0.5
SYNC_VARIANTS = {
    f"{mode}, {encoding}": (f"-mode={mode}", f"-gzip={gzip}")
    for mode in ("list", "watchlist")
    for encoding, gzip in (("gzip", "true"), ("identity", "false"))
}


@dataclass(frozen=True)
class BenchSizes:
    """The numbers of objects in benchmarks."""

    widgets: int = 20_000
    units: int = 1_000


@dataclass(frozen=True)
class WidgetBench:
    """A cluster filled with widgets, and the two sides to compare."""

    connection: Connection
    kubeconfig: Path
    widgets: int
    ours: Contender
    anchor: Contender


async def measure_bare_list(bench: WidgetBench) -> list[Measure]:
    """Time a bare list in all variants; no library can sync faster than the best of them."""
    rows = []
    for variant in LIST_VARIANTS:
        seconds = [(await time_list(bench.connection, variant))[0] for _ in range(SYNC_RUNS)]
        rows.append(new_measure(f"bare list: {variant}", None, min(seconds)))
    for encoding, gzip in (("identity", False), ("gzip", True)):
        seconds = [await time_streaming_list(bench.connection, gzip=gzip) for _ in range(SYNC_RUNS)]
        rows.append(new_measure(f"bare streaming list: {encoding}", None, min(seconds)))
    return rows


async def measure_sync(bench: WidgetBench) -> list[Measure]:
    """Compare our initial sync with the fastest variant of client-go."""
    runs = f"-runs={SYNC_RUNS}"
    theirs = {
        variant: (await bench.anchor.sync(bench.kubeconfig, runs, *options)).best
        for variant, options in SYNC_VARIANTS.items()
    }
    ours = await bench.ours.sync(bench.kubeconfig, runs)
    best, *others = sorted(theirs, key=lambda variant: theirs[variant])
    title = f"initial sync of {bench.widgets:,} widgets"
    return [
        new_measure(f"{title} ({best})", ours.best, theirs[best], "<= 1.0x"),
        *(new_measure(f"{title} ({variant})", None, theirs[variant]) for variant in others),
    ]


async def measure_memory(bench: WidgetBench) -> list[Measure]:
    """Compare the memory of one sync in a fresh process, after garbage collection."""
    theirs = await bench.anchor.sync(bench.kubeconfig, "-gzip=false")
    ours = await bench.ours.sync(bench.kubeconfig)
    return [
        new_measure(
            "RSS a cached widget", ours.rss_per_object, theirs.rss_per_object, "<= 3,300 B", "B"
        ),
        new_measure("live heap a cached widget", None, theirs.heap_per_object, "", "B"),
    ]


async def measure_decoding(bench: WidgetBench) -> list[Measure]:
    """Measure the time and memory of typed values without a library."""
    return await measure_footprint(bench.connection)


async def measure_latency(bench: WidgetBench) -> list[Measure]:
    """Compare the time from the write of a change to the start of its reconcile."""
    rows = []
    for rate in CHANGE_RATES:
        theirs, ours, writes = await measure_changes(bench, rate)
        title = f"change to reconcile at {rate}/s"
        rows += [
            new_measure(f"{title}, p99", ours.p99, theirs.p99, "<= 3x"),
            new_measure(f"{title}, p50", ours.p50, theirs.p50),
            new_measure(f"{title}, only the write, p50", None, writes.p50),
        ]
    return rows


async def measure_changes(
    bench: WidgetBench, rate: float
) -> tuple[LatencyReport, LatencyReport, LatencyReport]:
    """Measure both sides and the writes on the same changes, so that a stall affects both."""
    randomness = random.Random(rate)
    async with AsyncExitStack() as sides:
        theirs = await sides.enter_async_context(bench.anchor.latency(bench.kubeconfig))
        ours = await sides.enter_async_context(bench.ours.latency(bench.kubeconfig))
        await asyncio.sleep(PAUSE_SECONDS)
        writes = await change_widgets(
            bench.connection, rate, DRIVE_SECONDS, bench.widgets, randomness
        )
        await asyncio.sleep(SETTLE_SECONDS)
    return await theirs, await ours, writes


async def measure_idle(bench: WidgetBench) -> list[Measure]:
    """Compare idle CPU with all widgets and with those of one namespace."""
    few = await bench.ours.idle(bench.kubeconfig, f"-namespace={widget_namespace(0)}")
    many = await bench.ours.idle(bench.kubeconfig)
    title = f"idle CPU in 10 s, {many.objects:,} objects against {few.objects:,}"
    return [
        new_measure(title, many.cpu_seconds, few.cpu_seconds, "does not grow"),
        new_measure("writes of an idle informer", many.writes, None, "0", "writes"),
    ]


async def run_queue_benchmark(_: BenchSizes) -> list[Measure]:
    """Measure the work queue; needs no cluster."""
    return await measure_queues()


async def run_units_benchmark(sizes: BenchSizes) -> list[Measure]:
    """Measure units on whole clusters, one for each controller."""
    return await measure_units(sizes.units)


async def run_create_benchmark(_: BenchSizes) -> list[Measure]:
    """Measure creates with one API process, and stock without a controller."""
    return await measure_creates()


async def run_burst_benchmark(_: BenchSizes) -> list[Measure]:
    """Measure creates by several API processes that compete for the same stock."""
    return await measure_bursts()


async def run_listing_benchmark(_: BenchSizes) -> list[Measure]:
    """Measure lists with one API process, and units without a controller."""
    return await measure_listings()


async def run_health_benchmark(_: BenchSizes) -> list[Measure]:
    """Measure the health endpoint of one API process in an empty cluster."""
    return await measure_health()


async def run_ingest_benchmark(_: BenchSizes) -> list[Measure]:
    """Compare one API process with a program that only publishes."""
    return await measure_ingest()


async def run_storages_benchmark(_: BenchSizes) -> list[Measure]:
    """Compare our controller with itself under different numbers of storages."""
    return await measure_storages()


async def run_idle_benchmark(sizes: BenchSizes) -> list[Measure]:
    """Measure our controller and API at rest, then the other controller."""
    return await measure_idle_processes(sizes.units)


async def run_serverless_benchmark(_: BenchSizes) -> list[Measure]:
    """Measure one API process, and a queue with workers."""
    return [*await measure_echo(), *await measure_drain()]


async def run_isolation_benchmark(_: BenchSizes) -> list[Measure]:
    """Measure the system of `make up`."""
    return await measure_isolation()


WIDGET_BENCHMARKS: dict[str, Callable[[WidgetBench], Awaitable[list[Measure]]]] = {
    "floor": measure_bare_list,
    "sync": measure_sync,
    "memory": measure_memory,
    "decoding": measure_decoding,
    "latency": measure_latency,
    "idle": measure_idle,
}
STANDALONE_BENCHMARKS: dict[str, Callable[[BenchSizes], Awaitable[list[Measure]]]] = {
    "queue": run_queue_benchmark,
    "units": run_units_benchmark,
    "rest": run_idle_benchmark,
    "storages": run_storages_benchmark,
    "create": run_create_benchmark,
    "burst": run_burst_benchmark,
    "listing": run_listing_benchmark,
    "health": run_health_benchmark,
    "ingest": run_ingest_benchmark,
    "serverless": run_serverless_benchmark,
    "isolation": run_isolation_benchmark,
}
