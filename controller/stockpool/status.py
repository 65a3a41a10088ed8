"""Status of a pool, computed from a snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from controller.runtime import ForbiddenError, InvalidError, KubeError
from controller.stockpool import stock_claims
from controller.stockpool.snapshot import PoolSnapshot
from controller.stockpool.stock import (
    is_outdated,
    is_unit_ready,
    unclaimed_units,
    unit_ready_condition,
)
from shared.k8s.conditions import find_condition, with_condition
from shared.k8s.meta import Condition
from shared.k8s.readiness import Readiness, new_condition
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import PoolPhase, UnitPhase
from shared.v1alpha1.reasons import ConditionType, PoolReason, UnitReason
from shared.v1alpha1.stockpool import StockPool, StockPoolStatus
from shared.v1alpha1.validation.resources import resource_problems
from shared.v1alpha1.wellknown import POOL_LABEL


@dataclass(frozen=True, slots=True)
class PoolProblem:
    """Problem of a pool; with `is_invalid_spec` only another spec helps, a retry does not."""

    message: str
    is_invalid_spec: bool


def spec_problem(pool: StockPool) -> PoolProblem | None:
    """Return the problems of the spec as one; None if the spec is valid."""
    problems = resource_problems(pool.spec)
    return PoolProblem("; ".join(problem.text for problem in problems), True) if problems else None


def rejection_problem(error: KubeError | None) -> PoolProblem | None:
    """Return an error that the server will repeat; None for a transient error."""
    if not isinstance(error, InvalidError | ForbiddenError):
        return None
    return PoolProblem(error.message, isinstance(error, InvalidError))


class PoolReadiness(Readiness[PoolPhase, PoolReason]):
    """Readiness of a pool, as its status reports it.

    A pool of no units is ready when its last unit is deleted.
    """

    __slots__ = ()

    READY_PHASES: ClassVar[tuple[str, ...]] = (PoolPhase.READY, PoolPhase.SCALED_TO_ZERO)


def next_status(
    snapshot: PoolSnapshot, problem: PoolProblem | None, now: datetime
) -> StockPoolStatus:
    """Compute the status of the pool; equal snapshots give equal statuses, except for times."""
    pool, old = snapshot.pool, snapshot.pool.status
    stock = unclaimed_units(pool, snapshot.units)
    counted = stock_claims.count_claims(old, snapshot.units)
    readiness = pool_readiness(pool, stock, problem)
    return StockPoolStatus(
        phase=readiness.phase,
        replicas=len(stock),
        available=sum(is_unit_ready(unit) for unit in stock),
        allocated=counted.consumed_count,
        claimed=counted.claimed_uids,
        selector=f"{POOL_LABEL}={pool.metadata.name}",
        observed_generation=pool.metadata.generation,
        conditions=with_condition(old.conditions, pool_ready_condition(pool, readiness, now)),
    )


def pool_ready_condition(pool: StockPool, readiness: PoolReadiness, now: datetime) -> Condition:
    """Create the condition Ready of the pool."""
    return new_condition(
        ConditionType.READY,
        is_true=readiness.is_ready,
        reason=readiness.reason,
        message=readiness.message,
        observed_generation=pool.metadata.generation,
        now=now,
    )


def pool_readiness(
    pool: StockPool, stock: Sequence[GPUUnit], problem: PoolProblem | None
) -> PoolReadiness:
    """Decide the readiness of the pool; problems that need a user come first."""
    if problem is not None:
        return problem_readiness(problem)
    if not pool.spec.replicas and not stock:
        return PoolReadiness(
            PoolPhase.SCALED_TO_ZERO, PoolReason.SCALED_TO_ZERO, "no units are requested"
        )
    return degraded_readiness(stock) or progress_readiness(pool, stock)


def problem_readiness(problem: PoolProblem) -> PoolReadiness:
    """Report a problem that a user must solve."""
    if problem.is_invalid_spec:
        return PoolReadiness(PoolPhase.FAILED, PoolReason.INVALID_SPEC, problem.message)
    return PoolReadiness(PoolPhase.DEGRADED, PoolReason.PROGRESSING, problem.message)


def degraded_readiness(stock: Sequence[GPUUnit]) -> PoolReadiness | None:
    """Report the first unit without a node, else the first failed one; None without either."""
    for unit in sorted_by_name(stock):
        condition = unit_ready_condition(unit)
        if condition is not None and condition.reason == UnitReason.POD_UNSCHEDULABLE:
            text = f"{unit.metadata.name}: {condition.message}"
            return PoolReadiness(PoolPhase.DEGRADED, PoolReason.INSUFFICIENT_NODES, text)
    for unit in sorted_by_name(stock):
        if unit.status.phase == UnitPhase.FAILED:
            condition = unit_ready_condition(unit)
            reason = f"{condition.reason}: {condition.message}" if condition else "failed"
            text = f"{unit.metadata.name}: {reason}"
            return PoolReadiness(PoolPhase.DEGRADED, PoolReason.PROGRESSING, text)
    return None


def progress_readiness(pool: StockPool, stock: Sequence[GPUUnit]) -> PoolReadiness:
    """Report how many units are ready."""
    desired, ready = pool.spec.replicas, sum(is_unit_ready(unit) for unit in stock)
    outdated = sum(is_outdated(pool, unit) for unit in stock)
    text = f"{ready} of {desired} units are ready"
    if outdated:
        return PoolReadiness(
            PoolPhase.PROGRESSING, PoolReason.PROGRESSING, f"{text}, {outdated} to be replaced"
        )
    if ready == desired == len(stock):
        return PoolReadiness(PoolPhase.READY, PoolReason.READY, text)
    return PoolReadiness(PoolPhase.PROGRESSING, PoolReason.PROGRESSING, text)


def sorted_by_name(stock: Sequence[GPUUnit]) -> list[GPUUnit]:
    return sorted(stock, key=lambda unit: (len(unit.metadata.name), unit.metadata.name))


def ready_message(status: StockPoolStatus) -> str:
    """Return the message of the condition Ready; empty before it is set."""
    condition = find_condition(status.conditions, ConditionType.READY)
    return "" if condition is None else condition.message
