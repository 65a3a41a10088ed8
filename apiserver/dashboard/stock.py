"""Stock and stock pools on the dashboard."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from apiserver.dashboard.snapshot import DashboardUnit
from apiserver.dashboard.top_rows import (
    DashboardRow,
    TopRows,
    ready_reason_and_message,
    sorted_by_name,
    top_rows,
)
from apiserver.dashboard.units import unit_state
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.stock_claim import is_claimed
from shared.v1alpha1.stockpool import StockPool

CLAIMED: Final = "Claimed"

_HEALTHY_PHASES: Final = frozenset({PoolPhase.READY.value, PoolPhase.SCALED_TO_ZERO.value})


class SpecRow(DashboardRow, frozen=True, kw_only=True):
    """The stock of one spec by state; `gpu` is of one unit."""

    spec_name: str
    gpu: int = 0
    states: dict[str, int]


class PoolRow(DashboardRow, frozen=True, kw_only=True):
    """One pool, with its available and its wanted stock."""

    name: str
    spec_name: str
    state: str
    wanted: int = 0
    available: int = 0
    allocated: int = 0
    reason: str = ""
    message: str = ""


def spec_rows(
    stock_units: Iterable[DashboardUnit], pools: Iterable[StockPool]
) -> tuple[SpecRow, ...]:
    """Return a row for every spec that has stock or a pool, by name."""
    sizes = {pool.spec.spec_name: pool.spec.gpu for pool in pools}
    states: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for unit in stock_units:
        states[unit.spec.spec_name][stock_state(unit)] += 1
        sizes.setdefault(unit.spec.spec_name, unit.spec.gpu)
    return tuple(
        SpecRow(spec_name=name, gpu=gpu, states=dict(sorted(states[name].items())))
        for name, gpu in sorted(sizes.items())
    )


def stock_state(unit: DashboardUnit) -> str:
    """Return the state of a stock unit; Claimed if an operation has claimed it."""
    return CLAIMED if is_claimed(unit) else unit_state(unit)


def pool_rows(pools: Iterable[StockPool]) -> TopRows[PoolRow]:
    """Return the rows of pools; incomplete pools first."""
    return top_rows(
        sorted_by_name(pools), lambda pool: pool_state(pool) in _HEALTHY_PHASES, pool_row
    )


def pool_row(pool: StockPool) -> PoolRow:
    """Return the row of one pool."""
    reason, message = ready_reason_and_message(pool.status.conditions)
    return PoolRow(
        name=pool.metadata.name,
        spec_name=pool.spec.spec_name,
        state=pool_state(pool),
        wanted=pool.spec.replicas,
        available=pool.status.available,
        allocated=pool.status.allocated,
        reason=reason,
        message=message,
    )


def pool_state(pool: StockPool) -> str:
    """Return the phase of a pool; Progressing before the first status."""
    return pool.status.phase or PoolPhase.PROGRESSING.value
