"""Tests of the pool snapshot: an unreliable read gives no snapshot."""

from typing import Any, cast

import pytest

from controller.namespaces import Namespaces
from controller.runtime.client.client import Client
from controller.runtime.client.decoding import ObjectList, UndecodableObject
from controller.runtime.client.kind import key_of
from controller.runtime.errors import NotFoundError, UndecodableError
from controller.runtime.key import ObjectKey
from controller.stockpool.snapshot import PoolSnapshot, PoolSnapshotReader
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.stockpool import StockPool
from tests.support.clocks.virtual_clock import VirtualClock
from tests.support.cluster.caches import UnstartedCaches
from tests.unit.controller.scripted_source import ScriptedSource
from tests.unit.controller.stockpool.pool_objects import new_pool, new_unit

KEY = key_of(new_pool())


class ScriptedReads:
    """Client with scripted answers to get and list; implements the reading verbs of Client."""

    def __init__(self, pool: StockPool | Exception, units: ObjectList[GPUUnit]) -> None:
        self._pool = pool
        self._units = units

    async def get(self, *_: Any) -> StockPool:
        if isinstance(self._pool, Exception):
            raise self._pool
        return self._pool

    async def list(self, *_: Any) -> ObjectList[GPUUnit]:
        return self._units


def reader(
    pool: StockPool | Exception, *units: GPUUnit, undecodable_name: str = ""
) -> PoolSnapshotReader:
    clock = VirtualClock()
    names = Namespaces(stock="stock", instance="instance", system="system")
    caches = UnstartedCaches(ScriptedSource(clock), names, clock)
    undecodable = (
        (UndecodableObject(ObjectKey("stock", undecodable_name), "u", "1", "why"),)
        if undecodable_name
        else ()
    )
    reads = ScriptedReads(pool, ObjectList(list(units), "9", undecodable=undecodable))
    (stock, _) = caches.units.informers
    stock.observe_write(a_foreign_unit("warm-2"))
    return PoolSnapshotReader(caches, cast(Client, reads))


def a_foreign_unit(name: str) -> GPUUnit:
    meta = ObjectMeta(name=name, namespace="stock", uid="foreign", resource_version="1")
    return GPUUnit(metadata=meta, spec=GPUUnitSpec(spec_name="g1.1"))


async def test_a_live_snapshot_has_the_objects_of_the_server() -> None:
    assert await reader(new_pool(), new_unit(0)).live(KEY) == PoolSnapshot(
        new_pool(), (new_unit(0),)
    )


async def test_a_deleted_pool_has_no_snapshot() -> None:
    assert await reader(NotFoundError("gone", status=404)).live(KEY) is None
    assert reader(new_pool()).cached(KEY) is None


async def test_undecodable_units_do_not_count_as_deleted() -> None:
    with pytest.raises(UndecodableError, match="warm-1"):
        await reader(new_pool(), new_unit(0), undecodable_name="warm-1").live(KEY)


def test_names_of_own_and_of_foreign_units_are_taken() -> None:
    is_taken = reader(new_pool()).name_check(PoolSnapshot(new_pool(), (new_unit(0),)))
    assert [is_taken(f"warm-{number}") for number in range(4)] == [True, False, True, False]
