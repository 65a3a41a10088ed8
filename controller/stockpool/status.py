"""What a pool's status says, from its units."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from controller.runtime.events.event import cut
from controller.stockpool import stock_claims
from controller.stockpool.problems import Trouble
from controller.stockpool.snapshot import View
from controller.stockpool.stock import is_outdated, is_ready, ready_condition, unclaimed
from shared.k8s.conditions import condition_of, timestamp, with_condition
from shared.k8s.meta import Condition
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import PoolPhase, UnitPhase
from shared.v1alpha1.reasons import ConditionType, PoolReason, UnitReason
from shared.v1alpha1.stockpool import StockPool, StockPoolStatus
from shared.v1alpha1.wellknown import POOL_LABEL

LONGEST_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the pool is, in one word, one reason and one sentence."""

    phase: PoolPhase
    reason: PoolReason
    message: str


def status(view: View, trouble: Trouble | None, now: datetime) -> StockPoolStatus:
    """The status of the pool in `view`; times aside, the same view gives the same status."""
    pool, known = view.pool, view.pool.status
    stock = unclaimed(pool, view.units)
    counted = stock_claims.counted(known, view.units)
    said = verdict(pool, stock, trouble)
    return StockPoolStatus(
        phase=said.phase,
        replicas=len(stock),
        available=sum(is_ready(unit) for unit in stock),
        allocated=counted.consumed,
        claimed=counted.uids,
        selector=f"{POOL_LABEL}={pool.metadata.name}",
        observed_generation=pool.metadata.generation,
        conditions=with_condition(known.conditions, condition(pool, said, now)),
    )


def condition(pool: StockPool, said: Verdict, now: datetime) -> Condition:
    """The condition Ready; a pool of none is as ready as it was asked to be."""
    is_right = said.phase in (PoolPhase.READY, PoolPhase.SCALED_TO_ZERO)
    return Condition(
        type=ConditionType.READY,
        status="True" if is_right else "False",
        observed_generation=pool.metadata.generation,
        last_transition_time=timestamp(now),
        reason=said.reason,
        message=cut(said.message, LONGEST_BYTES),
    )


def verdict(pool: StockPool, stock: Sequence[GPUUnit], trouble: Trouble | None) -> Verdict:
    """The first that applies, from what a person must mend to what time mends."""
    if trouble is not None:
        return troubled(trouble)
    if not pool.spec.replicas and not stock:
        return Verdict(
            PoolPhase.SCALED_TO_ZERO, PoolReason.SCALED_TO_ZERO, "no units are asked for"
        )
    return degraded(stock) or progress(pool, stock)


def troubled(trouble: Trouble) -> Verdict:
    if trouble.is_invalid:
        return Verdict(PoolPhase.FAILED, PoolReason.INVALID_SPEC, trouble.text)
    return Verdict(PoolPhase.DEGRADED, PoolReason.PROGRESSING, trouble.text)


def degraded(stock: Sequence[GPUUnit]) -> Verdict | None:
    """The word of the first unit that finds no node, else of the first that failed."""
    for unit in by_name(stock):
        said = ready_condition(unit)
        if said is not None and said.reason == UnitReason.POD_UNSCHEDULABLE:
            text = f"{unit.metadata.name}: {said.message}"
            return Verdict(PoolPhase.DEGRADED, PoolReason.INSUFFICIENT_NODES, text)
    for unit in by_name(stock):
        if unit.status.phase == UnitPhase.FAILED:
            said = ready_condition(unit)
            why = f"{said.reason}: {said.message}" if said else "failed"
            text = f"{unit.metadata.name}: {why}"
            return Verdict(PoolPhase.DEGRADED, PoolReason.PROGRESSING, text)
    return None


def progress(pool: StockPool, stock: Sequence[GPUUnit]) -> Verdict:
    """How far the pool is from what is asked."""
    asked, ready = pool.spec.replicas, sum(is_ready(unit) for unit in stock)
    outdated = sum(is_outdated(pool, unit) for unit in stock)
    text = f"{ready} of {asked} units are ready"
    if outdated:
        return Verdict(
            PoolPhase.PROGRESSING, PoolReason.PROGRESSING, f"{text}, {outdated} to be replaced"
        )
    if ready == asked == len(stock):
        return Verdict(PoolPhase.READY, PoolReason.READY, text)
    return Verdict(PoolPhase.PROGRESSING, PoolReason.PROGRESSING, text)


def by_name(stock: Sequence[GPUUnit]) -> list[GPUUnit]:
    return sorted(stock, key=lambda unit: (len(unit.metadata.name), unit.metadata.name))


def message_of(said: StockPoolStatus) -> str:
    """What the status tells people."""
    found = condition_of(said.conditions, ConditionType.READY)
    return "" if found is None else found.message
