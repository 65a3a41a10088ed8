"""Storages from created to Ready: the cost of each among many, compared with a few."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psutil

from shared.v1alpha1.gpustorage import KIND, PLURAL
from shared.v1alpha1.group import GROUP, VERSION
from shared.v1alpha1.phases import StoragePhase
from tests.bench.connection import Connection, open_connection
from tests.bench.controller.audit_log import count_writes
from tests.bench.controller.first_seen import FirstSeenTimes, ObservedObject, record_first_seen
from tests.bench.controller.unit_cluster import UnitBenchCluster, run_unit_bench_cluster
from tests.bench.controller.unit_contenders import our_controller_contender
from tests.bench.reports import LatencyReport, summarise
from tests.bench.table import Measure, new_measure
from tests.bench.usage import used_cpu_seconds

SMALL_BATCH = 5
LARGE_BATCH = 500
ROUNDS = 4
CREATOR_COUNT = 8
MAX_SECONDS = 600.0
SETTLE_SECONDS = 3.0  # a superfluous write would happen now
STORAGES_PATH = f"/apis/{GROUP}/{VERSION}/namespaces/runtime-instance/{PLURAL}"


@dataclass(frozen=True)
class BatchCost:
    """The time, writes and CPU of some storages that were created together."""

    count: int
    ready: LatencyReport
    wall: float
    writes: int
    cpu_seconds: float


@dataclass(frozen=True)
class StoragesBench:
    """A cluster with our controller, and a client with all rights."""

    cluster: UnitBenchCluster
    admin: Connection
    controller: psutil.Process


async def measure_storages() -> list[Measure]:
    """Measure a few storages alone, then many, then a few among the many."""
    async with run_storages_bench() as bench:
        await run_batch(bench, "first", SMALL_BATCH)
        alone = [await run_batch(bench, f"alone-{turn}", SMALL_BATCH) for turn in range(ROUNDS)]
        many = await run_batch(bench, "many", LARGE_BATCH)
        among = [await run_batch(bench, f"among-{turn}", SMALL_BATCH) for turn in range(ROUNDS)]
    return rows(min(alone, key=median_ready_time), many, min(among, key=median_ready_time))


@asynccontextmanager
async def run_storages_bench() -> AsyncIterator[StoragesBench]:
    async with AsyncExitStack() as stack:
        cluster = await stack.enter_async_context(run_unit_bench_cluster(0))
        admin = await stack.enter_async_context(
            open_connection(cluster.control_plane, CREATOR_COUNT + 1)
        )
        process = await stack.enter_async_context(our_controller_contender().run(cluster))
        yield StoragesBench(cluster, admin, psutil.Process(process.pid))


async def run_batch(bench: StoragesBench, prefix: str, count: int) -> BatchCost:
    """Create storages, wait until the last is Ready, and measure the cost."""
    writes = count_writes(bench.cluster.audit_log).total()
    cpu_seconds = used_cpu_seconds(bench.controller)
    ready = FirstSeenTimes(lambda item: ready_storage_name(item, prefix), count)
    async with record_first_seen(bench.admin, STORAGES_PATH, ready):
        sent = await create_storages(bench.admin, prefix, count)
        async with asyncio.timeout(MAX_SECONDS):
            await ready.all_seen.wait()
    cpu_seconds = used_cpu_seconds(bench.controller) - cpu_seconds
    await asyncio.sleep(SETTLE_SECONDS)
    return BatchCost(
        count,
        summarise([at - sent[name] for name, at in ready.seconds_by_unit.items()]),
        max(ready.seconds_by_unit.values()) - min(sent.values()),
        count_writes(bench.cluster.audit_log).total() - writes,
        cpu_seconds,
    )


def ready_storage_name(observed: ObservedObject, prefix: str) -> str | None:
    name = observed.metadata.name
    is_ready = name.startswith(f"{prefix}-") and observed.status.phase == StoragePhase.READY
    return name if is_ready else None


async def create_storages(admin: Connection, prefix: str, count: int) -> dict[str, float]:
    """Create storages a few at a time; return the send time of each request."""
    sent: dict[str, float] = {}
    names = iter([f"{prefix}-{number:04d}" for number in range(count)])
    async with asyncio.TaskGroup() as group:
        for _ in range(CREATOR_COUNT):
            group.create_task(create_each(admin, names, sent))
    return sent


async def create_each(admin: Connection, names: Iterable[str], sent_at: dict[str, float]) -> None:
    for name in names:
        sent_at[name] = time.perf_counter()
        await admin.create(STORAGES_PATH, storage_manifest(name))


def storage_manifest(name: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"size": "1Gi", "storageClassName": "sim-now"},
    }


def median_ready_time(batch: BatchCost) -> float:
    return batch.ready.p50


def rows(alone: BatchCost, many: BatchCost, beside_many: BatchCost) -> list[Measure]:
    """Compare all figures with those of the few storages alone."""
    many_title = f"{LARGE_BATCH} storages against {SMALL_BATCH}"
    few_title = f"{SMALL_BATCH} storages among {LARGE_BATCH} others against {SMALL_BATCH} alone"
    return [
        new_measure(
            f"{many_title}: wall for each",
            many.wall / LARGE_BATCH,
            alone.wall / SMALL_BATCH,
            "<= 1x",
        ),
        new_measure(
            f"{many_title}: writes for each",
            many.writes / LARGE_BATCH,
            alone.writes / SMALL_BATCH,
            "",
            "writes",
        ),
        new_measure(
            f"{many_title}: CPU for each",
            many.cpu_seconds / LARGE_BATCH,
            alone.cpu_seconds / SMALL_BATCH,
        ),
        new_measure(f"{few_title}: created to Ready, p50", beside_many.ready.p50, alone.ready.p50),
        new_measure(
            f"{few_title}: CPU for each",
            beside_many.cpu_seconds / SMALL_BATCH,
            alone.cpu_seconds / SMALL_BATCH,
        ),
        new_measure(f"{many_title}: created to Ready, all at once, p50", many.ready.p50, None),
    ]
