"""Our processes with a thousand units at rest, compared with an empty cluster and with Go."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import psutil

from hack.local.product_processes import RUNTIME_API
from tests.bench.connection import Connection, open_connection
from tests.bench.controller.audit_log import count_writes
from tests.bench.controller.first_seen import FirstSeenTimes, ready_unit_name, record_first_seen
from tests.bench.controller.unit_cluster import UnitBenchCluster, run_unit_bench_cluster
from tests.bench.controller.unit_contenders import (
    UnitContender,
    controller_runtime_contender,
    our_controller_contender,
)
from tests.bench.controller.unit_load import CREATOR_COUNT, UNITS_PATH, create_units
from tests.bench.table import Measure, new_measure
from tests.bench.usage import resident_mebibytes, used_cpu_seconds
from tests.support.cluster import product_processes

IDLE_SECONDS = 30.0
SETTLE_SECONDS = 10.0  # Events are written later, and the garbage collector runs
MAX_SECONDS = 600.0


@dataclass(frozen=True)
class IdleCost:
    """The CPU and memory of one process at rest."""

    cpu_seconds: float
    rss: float


async def measure_idle_processes(count: int) -> list[Measure]:
    """Measure our controller and API without units and with all, then the Go controller."""
    async with run_unit_bench_cluster(count) as cluster, AsyncExitStack() as stack:
        admin = await stack.enter_async_context(
            open_connection(cluster.control_plane, CREATOR_COUNT + 1)
        )
        processes = [
            await start_controller(stack, our_controller_contender(), cluster),
            await start_api(stack, cluster),
        ]
        empty = await measure_idle(processes)
        await create_ready_units(admin, count)
        before = count_writes(cluster.audit_log).total()
        full = await measure_idle(processes)
        writes = count_writes(cluster.audit_log).total() - before
    async with run_unit_bench_cluster(count) as cluster, AsyncExitStack() as stack:
        admin = await stack.enter_async_context(
            open_connection(cluster.control_plane, CREATOR_COUNT + 1)
        )
        other = [await start_controller(stack, controller_runtime_contender(), cluster)]
        await create_ready_units(admin, count)
        theirs = (await measure_idle(other))[0]
    return rows(count, empty, full, theirs, writes)


async def start_controller(
    stack: AsyncExitStack, contender: UnitContender, cluster: UnitBenchCluster
) -> psutil.Process:
    process = await stack.enter_async_context(contender.run(cluster))
    return psutil.Process(process.pid)


async def start_api(stack: AsyncExitStack, cluster: UnitBenchCluster) -> psutil.Process:
    changes = {"kubeconfig": str(cluster.state_dir / "kubeconfigs" / RUNTIME_API.name)}
    running = product_processes.run_product_process(RUNTIME_API, cluster.state_dir, changes)
    product = await stack.enter_async_context(running)
    return psutil.Process(product.process.pid)


async def create_ready_units(admin: Connection, count: int) -> None:
    """Create units, and wait until all are Ready and the follow-up work is done."""
    ready = FirstSeenTimes(ready_unit_name, count)
    async with record_first_seen(admin, UNITS_PATH, ready):
        await create_units(admin, count)
        async with asyncio.timeout(MAX_SECONDS):
            await ready.all_seen.wait()
    await asyncio.sleep(SETTLE_SECONDS)


async def measure_idle(processes: Sequence[psutil.Process]) -> list[IdleCost]:
    """Measure each process at rest."""
    before = [used_cpu_seconds(process) for process in processes]
    await asyncio.sleep(IDLE_SECONDS)
    return [
        IdleCost(used_cpu_seconds(process) - spent, resident_mebibytes(process))
        for process, spent in zip(processes, before, strict=True)
    ]


def rows(
    count: int,
    without_units: Sequence[IdleCost],
    with_units: Sequence[IdleCost],
    go_controller: IdleCost,
    writes: int,
) -> list[Measure]:
    """Compare the controller with the Go one, and each process with itself without units."""
    span = f"in {IDLE_SECONDS:g} s with {count:,} units at rest"
    table = [
        new_measure(
            f"CPU of the controller {span} (Go)",
            with_units[0].cpu_seconds,
            go_controller.cpu_seconds,
        ),
        new_measure(
            "RSS of the controller at rest (Go)", with_units[0].rss, go_controller.rss, "", "MiB"
        ),
        new_measure(f"writes of the controller {span}", writes, None, "0", "writes"),
    ]
    for name, loaded, unloaded in zip(
        ("controller", "API"), with_units, without_units, strict=True
    ):
        cost = loaded.cpu_seconds, unloaded.cpu_seconds
        table += [
            new_measure(f"CPU of the {name} {span} (without units)", *cost),
            new_measure(
                f"RSS of the {name} at rest (without units)", loaded.rss, unloaded.rss, "", "MiB"
            ),
        ]
    return table
