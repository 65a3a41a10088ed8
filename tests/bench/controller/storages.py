"""Storages from created to Ready: what many of them cost each, beside what a few do."""

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
from tests.bench.connection import Connection, connected
from tests.bench.controller.audit_log import counted
from tests.bench.controller.first_seen import Item, Sightings, watching
from tests.bench.controller.unit_cluster import UnitsPlane, units_plane
from tests.bench.controller.unit_contenders import our_controller
from tests.bench.reports import LatencyReport, summary
from tests.bench.table import Measure, measured
from tests.bench.usage import cpu

FEW = 5
MANY = 500
ROUNDS = 4
AT_ONCE = 8
LONGEST_SECONDS = 600.0
SETTLE_SECONDS = 3.0  # a write too many would come now
STORAGES = f"/apis/{GROUP}/{VERSION}/namespaces/runtime-instance/{PLURAL}"


@dataclass(frozen=True)
class Batch:
    """What some storages needed that were created one upon the other."""

    count: int
    ready: LatencyReport
    wall: float
    writes: int
    cpu_seconds: float


@dataclass(frozen=True)
class StoragesBench:
    """A cluster with our controller, and who looks at it."""

    cluster: UnitsPlane
    admin: Connection
    controller: psutil.Process


async def storage_measures() -> list[Measure]:
    """A few at a time alone, then many, then as few again among the many."""
    async with storages_bench() as bench:
        await batch(bench, "first", FEW)
        alone = [await batch(bench, f"alone-{turn}", FEW) for turn in range(ROUNDS)]
        many = await batch(bench, "many", MANY)
        among = [await batch(bench, f"among-{turn}", FEW) for turn in range(ROUNDS)]
    return rows(min(alone, key=median), many, min(among, key=median))


@asynccontextmanager
async def storages_bench() -> AsyncIterator[StoragesBench]:
    async with AsyncExitStack() as parts:
        cluster = await parts.enter_async_context(units_plane(0))
        admin = await parts.enter_async_context(connected(cluster.plane, AT_ONCE + 1))
        process = await parts.enter_async_context(our_controller().running(cluster))
        yield StoragesBench(cluster, admin, psutil.Process(process.pid))


async def batch(bench: StoragesBench, prefix: str, count: int) -> Batch:
    """Create them a few at a time, wait until the last is Ready, and look at what that took."""
    writes = counted(bench.cluster.audit_log).total()
    spent = cpu(bench.controller)
    ready = Sightings(lambda item: ready_of(item, prefix), count)
    async with watching(bench.admin, STORAGES, ready):
        sent = await create_all(bench.admin, prefix, count)
        async with asyncio.timeout(LONGEST_SECONDS):
            await ready.complete.wait()
    spent = cpu(bench.controller) - spent
    await asyncio.sleep(SETTLE_SECONDS)
    return Batch(
        count,
        summary([at - sent[name] for name, at in ready.at.items()]),
        max(ready.at.values()) - min(sent.values()),
        counted(bench.cluster.audit_log).total() - writes,
        spent,
    )


def ready_of(item: Item, prefix: str) -> str | None:
    name = item.metadata.name
    is_one = name.startswith(f"{prefix}-") and item.status.phase == StoragePhase.READY
    return name if is_one else None


async def create_all(admin: Connection, prefix: str, count: int) -> dict[str, float]:
    """The moment at which the create of each was sent."""
    sent: dict[str, float] = {}
    names = iter([f"{prefix}-{number:04d}" for number in range(count)])
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(create_each(admin, names, sent))
    return sent


async def create_each(admin: Connection, names: Iterable[str], sent: dict[str, float]) -> None:
    for name in names:
        sent[name] = time.perf_counter()
        await admin.create(STORAGES, a_storage(name))


def a_storage(name: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"size": "1Gi", "storageClassName": "sim-now"},
    }


def median(batch: Batch) -> float:
    return batch.ready.p50


def rows(alone: Batch, many: Batch, among: Batch) -> list[Measure]:
    """The few that are alone are what everything else is held against."""
    side = f"{MANY} storages against {FEW}"
    apart = f"{FEW} storages among {MANY} others against {FEW} alone"
    return [
        measured(f"{side}: wall for each", many.wall / MANY, alone.wall / FEW, "<= 1x"),
        measured(f"{side}: writes for each", many.writes / MANY, alone.writes / FEW, "", "writes"),
        measured(f"{side}: CPU for each", many.cpu_seconds / MANY, alone.cpu_seconds / FEW),
        measured(f"{apart}: created to Ready, p50", among.ready.p50, alone.ready.p50),
        measured(f"{apart}: CPU for each", among.cpu_seconds / FEW, alone.cpu_seconds / FEW),
        measured(f"{side}: created to Ready when all come at once, p50", many.ready.p50, None),
    ]
