"""One stock pool and its units, changed as users, the API and the unit reconciler change them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime.client.client import Client
from controller.runtime.client.ownership import controller_reference
from controller.runtime.errors import NotFoundError
from controller.runtime.key import ObjectKey
from controller.stockpool.stock import is_unit_ready
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stock_claim import is_claimed
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.wellknown import (
    CLAIM_OPERATION_ANNOTATION,
    CLAIMED_BY_ANNOTATION,
    CLAIMED_LABEL,
    POOL_LABEL,
)
from tests.support.wait.eventually import MIN_PAUSE_SECONDS, eventually


class StockPoolFixture:
    """The pool `warm` and its units."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self.namespace = namespace
        self.key = ObjectKey(namespace, "warm")

    async def create_pool(self, replicas: int, **spec: Any) -> StockPool:
        """Create the pool."""
        pool_spec = {"specName": "g1.1", "memory": "1Gi", "gpu": 1, "replicas": replicas, **spec}
        meta = {"namespace": self.namespace, "name": "warm"}
        return await self._client.create(STOCK_POOLS, {"metadata": meta, "spec": pool_spec})

    async def patch_pool(self, **spec: Any) -> StockPool:
        return await self._client.patch(STOCK_POOLS, self.key, {"spec": spec})

    async def get_pool(self) -> StockPool:
        return await self._client.get(STOCK_POOLS, self.key)

    async def units(self) -> list[GPUUnit]:
        """Return all units with the pool's label, claimed or not."""
        selector = {"labelSelector": f"{POOL_LABEL}=warm"}
        return (await self._client.list(GPU_UNITS, self.namespace, selector)).items

    async def unclaimed_names(self) -> list[str]:
        return unit_names(unit for unit in await self.units() if not is_claimed(unit))

    async def wait_unclaimed(self, *expected: str) -> None:
        """Wait until these are the unclaimed units."""
        await eventually(self.unclaimed_names, lambda names: names == list(expected))

    async def wait_pool(self, predicate: Callable[[StockPool], object]) -> StockPool:
        """Return the pool once `predicate` holds for it."""
        return await eventually(self.get_pool, predicate)

    async def get_unit(self, name: str) -> GPUUnit:
        return await self._client.get(GPU_UNITS, ObjectKey(self.namespace, name))

    async def report_ready(self, *names: str) -> None:
        """Report these units as ready, or all unclaimed ones, as the unit reconciler does."""
        for name in names or await self.unclaimed_names():
            await self.report_status(name, phase="Ready", nodeName="node-1")

    async def report_status(self, name: str, **status: Any) -> None:
        await self._client.patch_status(GPU_UNITS, ObjectKey(self.namespace, name), status)

    async def claim_unit(self, name: str) -> GPUUnit:
        """Claim a unit: label, annotations and the removal of its owner, in one write."""
        metadata = {
            "labels": {CLAIMED_LABEL: "true"},
            "annotations": {CLAIMED_BY_ANNOTATION: "u", CLAIM_OPERATION_ANNOTATION: "o"},
            "ownerReferences": None,
        }
        key = ObjectKey(self.namespace, name)
        return await self._client.patch(GPU_UNITS, key, {"metadata": metadata})

    async def release_unit(self, name: str) -> None:
        """Undo the claim, and set the pool as the owner again."""
        metadata = {
            "labels": {CLAIMED_LABEL: None},
            "annotations": {CLAIMED_BY_ANNOTATION: None, CLAIM_OPERATION_ANNOTATION: None},
            "ownerReferences": [controller_reference(STOCK_POOLS, await self.get_pool())],
        }
        key = ObjectKey(self.namespace, name)
        await self._client.patch(GPU_UNITS, key, {"metadata": metadata})

    async def consume_unit(self, name: str) -> None:
        await self._client.delete(GPU_UNITS, ObjectKey(self.namespace, name))


def unit_names(units: Iterable[GPUUnit]) -> list[str]:
    return sorted(unit.metadata.name for unit in units)


@asynccontextmanager
async def run_fake_unit_reconciler(
    pool: StockPoolFixture, *, consume: bool = True
) -> AsyncIterator[None]:
    """Make units ready, and consume claimed ones that the pool has counted, during the block."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(reconcile_until_cancelled(pool, consume=consume))
        try:
            yield
        finally:
            task.cancel()


async def reconcile_until_cancelled(pool: StockPoolFixture, *, consume: bool) -> None:
    while True:
        counted_uids = (await pool.get_pool()).status.claimed
        for unit in await pool.units():
            with contextlib.suppress(NotFoundError):  # the pool may have deleted it
                if consume and unit.metadata.uid in counted_uids:
                    await pool.consume_unit(unit.metadata.name)
                elif not is_claimed(unit) and not is_unit_ready(unit):
                    await pool.report_ready(unit.metadata.name)
        await asyncio.sleep(MIN_PAUSE_SECONDS)
