"""Decision how many units a pool creates and which it deletes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Final

from controller.stockpool.stock import is_outdated, is_unit_ready
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stockpool import StockPool

# A stock claim is recorded when a reconcile ends, so one reconcile must not create all units of
# a large pool.
MAX_CREATES: Final = 100


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """Units to delete, and the number to create after that."""

    to_delete: tuple[GPUUnit, ...] = ()
    create_count: int = 0

    @property
    def is_idle(self) -> bool:
        """Return whether there is nothing to do."""
        return not self.to_delete and not self.create_count


def plan_scaling(pool: StockPool, stock: Sequence[GPUUnit]) -> ScalingPlan:
    """Plan the next step from unclaimed `stock` to the desired number, never above that number."""
    ordered = sorted_by_deletion_priority(pool, stock)
    excess = max(0, len(ordered) - pool.spec.replicas)
    kept = ordered[excess:]
    replaced = replaceable_units(pool, kept)
    replaced_uids = {unit.metadata.uid for unit in replaced}
    unchanged = [unit for unit in kept if unit.metadata.uid not in replaced_uids]
    return ScalingPlan((*ordered[:excess], *replaced), create_count(pool, unchanged))


def sorted_by_deletion_priority(pool: StockPool, stock: Iterable[GPUUnit]) -> list[GPUUnit]:
    """Sort units: those that never had a node, then unready ones, then outdated; youngest first.

    No field says that a unit was once ready; a unit without a node never was.
    """

    def keep_priority(unit: GPUUnit) -> tuple[bool, bool, bool]:
        return is_unit_ready(unit), bool(unit.status.node_name), not is_outdated(pool, unit)

    return sorted(sorted(stock, key=age_sort_key, reverse=True), key=keep_priority)


def age_sort_key(unit: GPUUnit) -> tuple[str, int, str]:
    """Return a key that sorts units by age; within one second the higher number is younger."""
    name = unit.metadata.name
    return unit.metadata.creation_timestamp, len(name), name


def replaceable_units(pool: StockPool, kept: Sequence[GPUUnit]) -> list[GPUUnit]:
    """Return the outdated units to delete now: all unready ones, and as many ready ones as allowed.

    So resources that fit on no node cost only those few units.
    """
    outdated = [unit for unit in kept if is_outdated(pool, unit)]
    missing = pool.spec.replicas - sum(is_unit_ready(unit) for unit in kept)
    spare = max(0, max_unavailable(pool) - missing)
    ready = [unit for unit in outdated if is_unit_ready(unit)]
    return [unit for unit in outdated if not is_unit_ready(unit)] + ready[:spare]


def max_unavailable(pool: StockPool) -> int:
    """Return how many units may be unready at once because of changed resources."""
    return pool.spec.max_unavailable or max(1, pool.spec.replicas // 4)


def create_count(pool: StockPool, kept: Sequence[GPUUnit]) -> int:
    """Return how many units to create in addition to those that stay."""
    missing = min(pool.spec.replicas - len(kept), MAX_CREATES)
    if pool.spec.max_unavailable is None:
        return missing
    starting = sum(not is_unit_ready(unit) for unit in kept)
    return max(0, min(missing, pool.spec.max_unavailable - starting))


def free_names(pool: str, limit: int, is_taken: Callable[[str], bool]) -> list[str]:
    """Return the names of `limit` new units, the lowest numbers first.

    A process that decides twice, after a lost response or as a second leader, uses the same names,
    and the server rejects the second create. So there are never more units than desired.
    """
    possible = (names.pool_unit_name(pool, number) for number in count())
    return list(islice((name for name in possible if not is_taken(name)), limit))
