"""How many units a pool makes and which it removes, decided from what there is."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Final

from controller.stockpool.stock import is_outdated, is_unit_ready
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stockpool import StockPool

# A claim is recorded when a reconcile ends, so none may take as long as a large pool.
MAX_CREATES: Final = 100


@dataclass(frozen=True, slots=True)
class ScalingPlan:
    """Which units go, and how many are made once those are gone."""

    to_delete: tuple[GPUUnit, ...] = ()
    create_count: int = 0

    @property
    def is_idle(self) -> bool:
        """Whether all is as it should be."""
        return not self.to_delete and not self.create_count


def plan_scaling(pool: StockPool, stock: Sequence[GPUUnit]) -> ScalingPlan:
    """The next step from the unclaimed `stock` to what the pool asks for, never above it."""
    ordered = sorted_by_deletion_priority(pool, stock)
    excess = max(0, len(ordered) - pool.spec.replicas)
    kept = ordered[excess:]
    replaced = replaceable_units(pool, kept)
    going = {unit.metadata.uid for unit in replaced}
    staying = [unit for unit in kept if unit.metadata.uid not in going]
    return ScalingPlan((*ordered[:excess], *replaced), create_count(pool, staying))


def sorted_by_deletion_priority(pool: StockPool, stock: Iterable[GPUUnit]) -> list[GPUUnit]:
    """Units that never had a place, then those not ready, then outdated ones; the youngest first.

    That a unit was once ready is written nowhere; one without a node never was.
    """

    def worth(unit: GPUUnit) -> tuple[bool, bool, bool]:
        return is_unit_ready(unit), bool(unit.status.node_name), not is_outdated(pool, unit)

    return sorted(sorted(stock, key=age_sort_key, reverse=True), key=worth)


def age_sort_key(unit: GPUUnit) -> tuple[str, int, str]:
    """Orders units from old to young; of those of one second the higher number is younger."""
    name = unit.metadata.name
    return unit.metadata.creation_timestamp, len(name), name


def replaceable_units(pool: StockPool, kept: Sequence[GPUUnit]) -> list[GPUUnit]:
    """The outdated units that go now: those not ready, and as many ready ones as can be missed.

    So an envelope that fits nowhere costs only those few.
    """
    outdated = [unit for unit in kept if is_outdated(pool, unit)]
    missing = pool.spec.replicas - sum(is_unit_ready(unit) for unit in kept)
    spare = max(0, max_unavailable(pool) - missing)
    ready = [unit for unit in outdated if is_unit_ready(unit)]
    return [unit for unit in outdated if not is_unit_ready(unit)] + ready[:spare]


def max_unavailable(pool: StockPool) -> int:
    """How many units a changed envelope may keep from being ready at once."""
    return pool.spec.max_unavailable or max(1, pool.spec.replicas // 4)


def create_count(pool: StockPool, kept: Sequence[GPUUnit]) -> int:
    """How many units to make beside those that stay."""
    wanted = min(pool.spec.replicas - len(kept), MAX_CREATES)
    if pool.spec.max_unavailable is None:
        return wanted
    starting = sum(not is_unit_ready(unit) for unit in kept)
    return max(0, min(wanted, pool.spec.max_unavailable - starting))


def free_names(pool: str, limit: int, is_taken: Callable[[str], bool]) -> list[str]:
    """The names of so many new units, the lowest numbers first.

    Whoever decides the same twice, after a lost answer or as a second leader, takes the same names,
    and the server refuses the second try: so there are never more than asked for.
    """
    possible = (names.pool_unit_name(pool, each) for each in count())
    return list(islice((name for name in possible if not is_taken(name)), limit))
