"""The benchmarks by name: each measures both sides in the same run and gives rows of the table."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.bench.api.bursts import burst_measures
from tests.bench.api.creates import create_measures
from tests.bench.api.health import health_measures
from tests.bench.api.ingest import ingest_measures
from tests.bench.api.listings import listing_measures
from tests.bench.connection import Connection
from tests.bench.controller.idle_processes import rest_measures
from tests.bench.controller.storages import storage_measures
from tests.bench.controller.units import units_measures
from tests.bench.library.bare_list import VARIANTS, fetched, streamed
from tests.bench.library.contender import Contender
from tests.bench.library.decode_cost import footprint_measures
from tests.bench.library.queues import queue_measures
from tests.bench.library.widget_crd import namespace_of
from tests.bench.library.widget_load import drive
from tests.bench.reports import LatencyReport
from tests.bench.serverless.drain import drain_measures
from tests.bench.serverless.echo import echo_measures
from tests.bench.serverless.isolation import isolation_measures
from tests.bench.table import Measure, measured

RUNS = 3
RATES = (50, 100)
DRIVE_SECONDS = 10.0
REST_SECONDS = 3.0  # the server has just sent everything twice, and collects its garbage
SETTLE_SECONDS = 0.5
WAYS = {
    f"{mode}, {encoding}": (f"-mode={mode}", f"-gzip={gzip}")
    for mode in ("list", "watchlist")
    for encoding, gzip in (("gzip", "true"), ("identity", "false"))
}


@dataclass(frozen=True)
class Sizes:
    """How many objects the benchmarks work with."""

    widgets: int = 20_000
    units: int = 1_000


@dataclass(frozen=True)
class Bench:
    """What the benchmarks on widgets need: a filled cluster and the two sides."""

    connection: Connection
    kubeconfig: Path
    widgets: int
    ours: Contender
    anchor: Contender


async def floor(bench: Bench) -> list[Measure]:
    """A bare list in all ways; no library can sync faster than the best of them."""
    rows = []
    for variant in VARIANTS:
        seconds = [(await fetched(bench.connection, variant))[0] for _ in range(RUNS)]
        rows.append(measured(f"bare list: {variant}", None, min(seconds)))
    for encoding, gzip in (("identity", False), ("gzip", True)):
        seconds = [await streamed(bench.connection, gzip=gzip) for _ in range(RUNS)]
        rows.append(measured(f"bare streaming list: {encoding}", None, min(seconds)))
    return rows


async def sync(bench: Bench) -> list[Measure]:
    """Ours against the best that client-go can do, whichever way that is."""
    runs = f"-runs={RUNS}"
    theirs = {
        way: (await bench.anchor.sync(bench.kubeconfig, runs, *options)).best
        for way, options in WAYS.items()
    }
    ours = await bench.ours.sync(bench.kubeconfig, runs)
    best, *others = sorted(theirs, key=lambda way: theirs[way])
    what = f"initial sync of {bench.widgets:,} widgets"
    return [
        measured(f"{what} ({best})", ours.best, theirs[best], "<= 1.0x"),
        *(measured(f"{what} ({way})", None, theirs[way]) for way in others),
    ]


async def memory(bench: Bench) -> list[Measure]:
    """Of one sync in a fresh process, after the collector ran and free pages went back."""
    theirs = await bench.anchor.sync(bench.kubeconfig, "-gzip=false")
    ours = await bench.ours.sync(bench.kubeconfig)
    return [
        measured(
            "RSS a cached widget", ours.rss_per_object, theirs.rss_per_object, "<= 3,300 B", "B"
        ),
        measured("live heap a cached widget", None, theirs.heap_per_object, "", "B"),
    ]


async def decoding(bench: Bench) -> list[Measure]:
    """Without a library: what typed values cost in time and memory."""
    return await footprint_measures(bench.connection)


async def latency(bench: Bench) -> list[Measure]:
    """From the writer's stamp to the start of the reconcile, the write itself included."""
    rows = []
    for rate in RATES:
        theirs, ours, writes = await changed(bench, rate)
        what = f"change to reconcile at {rate}/s"
        rows += [
            measured(f"{what}, p99", ours.p99, theirs.p99, "<= 3x"),
            measured(f"{what}, p50", ours.p50, theirs.p50),
            measured(f"{what}, of which the write, p50", None, writes.p50),
        ]
    return rows


async def changed(bench: Bench, rate: float) -> tuple[LatencyReport, LatencyReport, LatencyReport]:
    """What both sides saw of the same changes, so that a stall hits both; and the writes' times."""
    randomness = random.Random(rate)
    async with AsyncExitStack() as sides:
        theirs = await sides.enter_async_context(bench.anchor.latency(bench.kubeconfig))
        ours = await sides.enter_async_context(bench.ours.latency(bench.kubeconfig))
        await asyncio.sleep(REST_SECONDS)
        writes = await drive(bench.connection, rate, DRIVE_SECONDS, bench.widgets, randomness)
        await asyncio.sleep(SETTLE_SECONDS)
    return await theirs, await ours, writes


async def idle(bench: Bench) -> list[Measure]:
    """All widgets against those of one namespace: at rest their number must not matter."""
    few = await bench.ours.idle(bench.kubeconfig, f"-namespace={namespace_of(0)}")
    all_of_them = await bench.ours.idle(bench.kubeconfig)
    what = f"idle CPU in 10 s, {all_of_them.objects:,} objects against {few.objects:,}"
    return [
        measured(what, all_of_them.cpu_seconds, few.cpu_seconds, "does not grow"),
        measured("writes of an idle informer", all_of_them.writes, None, "0", "writes"),
    ]


async def queue(_: Sizes) -> list[Measure]:
    """Needs no cluster."""
    return await queue_measures()


async def units(sizes: Sizes) -> list[Measure]:
    """Brings whole clusters of its own, one for each controller."""
    return await units_measures(sizes.units)


async def create(_: Sizes) -> list[Measure]:
    """One API process, and stock made by hand."""
    return await create_measures()


async def burst(_: Sizes) -> list[Measure]:
    """Several API processes that compete for the same stock."""
    return await burst_measures()


async def listing(_: Sizes) -> list[Measure]:
    """One API process, and users' units made by hand."""
    return await listing_measures()


async def health(_: Sizes) -> list[Measure]:
    """One API process, and nothing in its cluster."""
    return await health_measures()


async def ingest(_: Sizes) -> list[Measure]:
    """One API process, one queue, and a program that only publishes."""
    return await ingest_measures()


async def storages(_: Sizes) -> list[Measure]:
    """Our controller alone, held against itself."""
    return await storage_measures()


async def rest(sizes: Sizes) -> list[Measure]:
    """Our controller and API, then the other controller, each on a cluster of its own."""
    return await rest_measures(sizes.units)


async def serverless(_: Sizes) -> list[Measure]:
    """One API process, and a queue with workers."""
    return [*await echo_measures(), *await drain_measures()]


async def isolation(_: Sizes) -> list[Measure]:
    """All that `make up` starts."""
    return await isolation_measures()


ON_WIDGETS: dict[str, Callable[[Bench], Awaitable[list[Measure]]]] = {
    "floor": floor,
    "sync": sync,
    "memory": memory,
    "decoding": decoding,
    "latency": latency,
    "idle": idle,
}
ALONE: dict[str, Callable[[Sizes], Awaitable[list[Measure]]]] = {
    "queue": queue,
    "units": units,
    "rest": rest,
    "storages": storages,
    "create": create,
    "burst": burst,
    "listing": listing,
    "health": health,
    "ingest": ingest,
    "serverless": serverless,
    "isolation": isolation,
}
