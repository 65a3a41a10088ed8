"""Writes of the controller of release 0.1.0 (commit 0e22fbe) for given objects.

That release made the data file. It has objects, and the writes of one or more reconciles of these
objects: children with their hashes, annotations, finalizers, locks, statuses, deletes and Events.
The pods of units are in tests/unit/controller/gpuunit/resources/golden; this data file has only the
hash of their Deployments.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import pytest

from controller.gpustorage import setup as storages
from controller.gpuunit import setup as units
from controller.object_reader import ObjectReader
from controller.operation.reconciler import OperationReconciler
from controller.runtime.cache.writer import Writer
from controller.runtime.key import ObjectKey
from controller.runtime.loop.reconcile import ReconcileError, Result
from controller.stockpool.reconciler import StockPoolReconciler
from controller.wiring import PROGRAM_NAME
from tests.support.builders.gpu_units import unit_settings
from tests.support.cluster.caches import UnstartedCaches
from tests.unit.controller.gpustorage.storage_objects import SETTINGS
from tests.unit.golden.data import Case, cases
from tests.unit.golden.recorded_cluster import RecordedCluster

DAY: Final = 86400.0

Turn = Callable[[ObjectKey], Awaitable[Result]]


def turns(cluster: RecordedCluster) -> dict[str, Turn]:
    """Return the reconcile function of each kind."""
    client, clock, recorder = cluster.client, cluster.clock, cluster.recorder
    where = unit_settings().namespaces
    caches = UnstartedCaches(client, where, clock)
    cluster.fill(caches.informers)
    writer, lookup = Writer(client, caches.informers), ObjectReader(caches, client, where)
    common = (caches, client, writer, recorder)
    return {
        "GPUUnit": units.create_reconciler(*common, unit_settings(), clock).reconcile,
        "GPUStorage": storages.create_reconciler(*common, SETTINGS, clock).reconcile,
        "StockPool": StockPoolReconciler(*common, clock).reconcile,
        "Operation": OperationReconciler(caches, lookup, writer, clock, DAY).reconcile,
    }


async def written(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Run the given reconciles; return their writes, or only those that match `about`."""
    cluster = RecordedCluster(given["found"], PROGRAM_NAME)
    turn_of = turns(cluster)
    for turn in given["turns"]:
        kind, namespace, name = turn.split(" ")
        try:
            await turn_of[kind](ObjectKey(namespace, name))
        except ReconcileError as error:
            cluster.writes.append({"again": str(error)})
    await cluster.flush_events()
    return [without_pods(write) for write in cluster.writes if is_about(write, given)]


def is_about(write: dict[str, Any], given: Mapping[str, Any]) -> bool:
    """Return whether a write belongs to the case."""
    call = write.get("call", "")
    return "dryRun" not in call and re.search(given.get("about", ""), call) is not None


def without_pods(write: dict[str, Any]) -> dict[str, Any]:
    """Return the write without the pod template of a unit."""
    if "/deployments/unit-" not in write.get("call", "") or "spec" not in write["body"]:
        return write
    return {**write, "body": {**write["body"], "spec": "elsewhere"}}


@pytest.mark.parametrize("case", cases("controller_writes", "turns"))
async def test_the_writes_of_a_reconcile_are_those_of_the_release(case: Case) -> None:
    assert await written(case.given) == case.made
