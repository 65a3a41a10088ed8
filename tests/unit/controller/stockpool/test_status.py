"""Tests of the stock pool status, which is computed from the pool's units."""

from datetime import UTC, datetime

import pytest

from controller.runtime.errors import ForbiddenError, InvalidError, ServerError
from controller.stockpool.snapshot import PoolSnapshot
from controller.stockpool.status import (
    next_status,
    pool_readiness,
    ready_message,
    rejection_problem,
    spec_problem,
)
from shared.k8s import merge_patch
from shared.k8s.readiness import MAX_MESSAGE_BYTES
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.phases import PoolPhase, UnitPhase
from shared.v1alpha1.stockpool import StockPool
from tests.unit.controller.stockpool.pool_objects import new_pool, new_unit

NOW = datetime(2026, 11, 16, tzinfo=UTC)
LATER = datetime(2026, 11, 17, tzinfo=UTC)
PROGRESSING = UnitPhase.PROGRESSING


def readiness_of(pool: StockPool, *stock: GPUUnit) -> tuple[str, str, str]:
    readiness = pool_readiness(pool, stock, None)
    return readiness.phase, readiness.reason, readiness.message


def test_a_pool_with_all_its_units_is_ready() -> None:
    expected = ("Ready", "PoolReady", "2 of 2 units are ready")
    assert readiness_of(new_pool(2), new_unit(0), new_unit(1)) == expected


def test_a_pool_with_starting_units_is_progressing() -> None:
    expected = ("Progressing", "PoolProgressing", "1 of 2 units are ready")
    assert readiness_of(new_pool(2), new_unit(0), new_unit(1, PROGRESSING)) == expected


def test_a_pool_with_outdated_units_is_progressing() -> None:
    expected = ("Progressing", "PoolProgressing", "1 of 1 units are ready, 1 to be replaced")
    assert readiness_of(new_pool(1), new_unit(0, memory="8Gi")) == expected


def test_a_pool_without_replicas_is_scaled_to_zero_once_no_unit_is_left() -> None:
    assert readiness_of(new_pool(0))[:2] == ("ScaledToZero", "ScaledToZero")
    assert readiness_of(new_pool(0), new_unit(0))[:2] == ("Progressing", "PoolProgressing")


def test_an_unschedulable_unit_is_reported_before_a_failed_unit() -> None:
    failed = new_unit(0, UnitPhase.FAILED, ready=("PodStartupFailed", "no such image"))
    waiting = new_unit(1, PROGRESSING, ready=("PodUnschedulable", "0/4 nodes are available"))
    expected = ("Degraded", "InsufficientNodes", "warm-1: 0/4 nodes are available")
    assert readiness_of(new_pool(2), failed, waiting) == expected
    expected = ("Degraded", "PoolProgressing", "warm-0: PodStartupFailed: no such image")
    assert readiness_of(new_pool(2), failed, new_unit(1)) == expected


def test_a_long_message_of_a_pool_is_shortened() -> None:
    waiting = new_unit(0, PROGRESSING, ready=("PodUnschedulable", "\u00e9" * 5000))
    status = next_status(PoolSnapshot(new_pool(1), (waiting,)), None, NOW)
    assert len(ready_message(status).encode()) == MAX_MESSAGE_BYTES


def test_the_counts_exclude_claimed_and_terminating_units() -> None:
    units = (
        new_unit(0),
        new_unit(1, PROGRESSING),
        new_unit(2, claimed=True),
        new_unit(3, deleted_at="2026-11-16T00:00:00Z"),
    )
    status = next_status(PoolSnapshot(new_pool(2), units), None, NOW)
    assert (status.replicas, status.available, status.claimed) == (2, 1, ("uid-2",))
    assert (status.selector, status.observed_generation) == ("runtime.lokiwager.io/pool=warm", 2)


def test_an_unchanged_pool_needs_no_status_write() -> None:
    first = next_status(PoolSnapshot(new_pool(1), (new_unit(0),)), None, NOW)
    again = next_status(PoolSnapshot(new_pool(1, status=first), (new_unit(0),)), None, LATER)
    assert merge_patch.create_merge_patch(first, again) == {}


def test_an_invalid_spec_fails_with_field_and_value() -> None:
    problem = spec_problem(new_pool(memory="lots"))
    assert problem is not None
    readiness = pool_readiness(new_pool(), [new_unit(0)], problem)
    assert (readiness.phase, readiness.reason) == ("Failed", "InvalidSpec")
    assert "memory" in readiness.message
    assert "lots" in readiness.message


@pytest.mark.parametrize(
    ("failure", "phase"),
    [
        (InvalidError("POST: no", status=422, message="no"), PoolPhase.FAILED),
        (ForbiddenError("POST: quota", status=403, message="quota"), PoolPhase.DEGRADED),
    ],
)
def test_a_rejection_has_the_message_of_the_server(
    failure: InvalidError | ForbiddenError, phase: PoolPhase
) -> None:
    readiness = pool_readiness(new_pool(), [], rejection_problem(failure))
    assert (readiness.phase, readiness.message) == (phase, failure.message)


def test_a_transient_failure_is_not_reported() -> None:
    assert rejection_problem(ServerError("busy", status=500)) is None
