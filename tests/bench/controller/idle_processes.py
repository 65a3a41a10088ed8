"""What our processes take while a thousand units are at rest, beside an empty cluster and Go."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import psutil

from hack.local.product_processes import RUNTIME_API
from tests.bench.connection import Connection, connected
from tests.bench.controller.audit_log import counted
from tests.bench.controller.first_seen import Sightings, ready_unit, watching
from tests.bench.controller.unit_cluster import UnitsPlane, units_plane
from tests.bench.controller.unit_contenders import UnitContender, controller_runtime, our_controller
from tests.bench.controller.unit_load import UNITS, WORKERS, create_all
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu, resident
from tests.support.cluster import product_processes

REST_SECONDS = 30.0
SETTLE_SECONDS = 10.0  # Events are written behind, and the collector of garbage follows
LONGEST_SECONDS = 600.0


@dataclass(frozen=True)
class Rest:
    """One process at rest."""

    cpu_seconds: float
    rss: float


async def rest_measures(count: int) -> list[Measure]:
    """Our controller and the API, first with nothing and then with all units; then the other."""
    async with units_plane(count) as cluster, AsyncExitStack() as parts:
        admin = await parts.enter_async_context(connected(cluster.plane, WORKERS + 1))
        processes = [
            await started(parts, our_controller(), cluster),
            await api(parts, cluster),
        ]
        empty = await rest(processes)
        await fill(admin, count)
        before = counted(cluster.audit_log).total()
        full = await rest(processes)
        writes = counted(cluster.audit_log).total() - before
    async with units_plane(count) as cluster, AsyncExitStack() as parts:
        admin = await parts.enter_async_context(connected(cluster.plane, WORKERS + 1))
        other = [await started(parts, controller_runtime(), cluster)]
        await fill(admin, count)
        theirs = (await rest(other))[0]
    return rows(count, empty, full, theirs, writes)


async def started(
    parts: AsyncExitStack, contender: UnitContender, cluster: UnitsPlane
) -> psutil.Process:
    process = await parts.enter_async_context(contender.running(cluster))
    return psutil.Process(process.pid)


async def api(parts: AsyncExitStack, cluster: UnitsPlane) -> psutil.Process:
    changes = {"kubeconfig": str(cluster.home / "kubeconfigs" / RUNTIME_API.name)}
    running = product_processes.running(RUNTIME_API, cluster.home, changes)
    product = await parts.enter_async_context(running)
    return psutil.Process(product.process.pid)


async def fill(admin: Connection, count: int) -> None:
    """So many units that are Ready, and some time for whatever follows that."""
    ready = Sightings(ready_unit, count)
    async with watching(admin, UNITS, ready):
        await create_all(admin, count)
        async with asyncio.timeout(LONGEST_SECONDS):
            await ready.complete.wait()
    await asyncio.sleep(SETTLE_SECONDS)


async def rest(processes: Sequence[psutil.Process]) -> list[Rest]:
    """What each of them takes while nothing happens."""
    before = [cpu(process) for process in processes]
    await asyncio.sleep(REST_SECONDS)
    return [
        Rest(cpu(process) - spent, resident(process))
        for process, spent in zip(processes, before, strict=True)
    ]


def rows(
    count: int, empty: Sequence[Rest], full: Sequence[Rest], theirs: Rest, writes: int
) -> list[Measure]:
    """The controller beside the Go one, and each process beside itself without units."""
    span = f"in {REST_SECONDS:g} s with {count:,} units at rest"
    table = [
        measured(f"CPU of the controller {span} (Go)", full[0].cpu_seconds, theirs.cpu_seconds),
        measured("RSS of the controller then (Go)", full[0].rss, theirs.rss, "", "MiB"),
        measured(f"writes of the controller {span}", writes, None, "0", "writes"),
    ]
    for name, all_, none in zip(("controller", "API"), full, empty, strict=True):
        cost = all_.cpu_seconds, none.cpu_seconds
        table += [
            measured(f"CPU of the {name} {span} (without any)", *cost),
            measured(f"RSS of the {name} then (without any)", all_.rss, none.rss, "", "MiB"),
        ]
    return table
