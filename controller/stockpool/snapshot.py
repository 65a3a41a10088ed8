"""Snapshot of a pool and its units, from the caches or from the server."""

from collections.abc import Callable
from dataclasses import dataclass

from controller.caches import BY_POOL, Caches
from controller.kinds import GPU_UNITS, STOCK_POOLS
from controller.runtime import Client, NotFoundError, ObjectKey, UndecodableError
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.wellknown import POOL_LABEL


@dataclass(frozen=True, slots=True)
class PoolSnapshot:
    """One pool and every unit with its label: unclaimed, claimed, foreign or being deleted."""

    pool: StockPool
    units: tuple[GPUUnit, ...]


class PoolSnapshotReader:
    """Reader of snapshots; returns None for a pool that is gone."""

    def __init__(self, caches: Caches, client: Client) -> None:
        self._caches = caches
        self._client = client

    def cached(self, key: ObjectKey) -> PoolSnapshot | None:
        """Read the caches, which may be stale, but cost no request."""
        pool = self._caches.pools.get(key)
        if pool is None:
            return None
        return PoolSnapshot(
            pool, tuple(self._caches.units.by_index(key.namespace, BY_POOL, key.name))
        )

    async def live(self, key: ObjectKey) -> PoolSnapshot | None:
        """Read the server; the units are never older than the pool."""
        try:
            pool = await self._client.get(STOCK_POOLS, key)
        except NotFoundError:
            return None
        selector = {"labelSelector": f"{POOL_LABEL}={key.name}"}
        listing = await self._client.list(GPU_UNITS, key.namespace, selector)
        if listing.undecodable:  # they exist, and without them every count is wrong
            undecodable = ", ".join(item.key.name for item in listing.undecodable)
            raise UndecodableError(f"units of the pool cannot be read: {undecodable}")
        return PoolSnapshot(pool, tuple(listing.items))

    def name_check(self, snapshot: PoolSnapshot) -> Callable[[str], bool]:
        """Return a function that returns whether a unit name is taken.

        The snapshot decides about units of the pool, the cache about other units.
        """
        pool, own_names = snapshot.pool.metadata, {unit.metadata.name for unit in snapshot.units}

        def is_taken(name: str) -> bool:
            unit = self._caches.units.get(ObjectKey(pool.namespace, name))
            is_foreign = unit is not None and unit.metadata.labels.get(POOL_LABEL) != pool.name
            return name in own_names or is_foreign

        return is_taken
