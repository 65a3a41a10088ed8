"""Tests of the function status."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.scaling.status import build_status
from serverless.activator.workers.create_backoff import (
    MAX_BACKOFF_SECONDS,
    CreateFailure,
    next_create_failure,
)
from serverless.activator.workers.runtime_api import Pending, Rejected
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.function import Function, FunctionSpec, FunctionStatus
from shared.v1alpha1.reasons import FunctionReason

NOW = datetime(2026, 1, 1, tzinfo=UTC)
READY, STARTING = WorkerState.READY, WorkerState.STARTING


def said(
    *states: WorkerState,
    desired: int = 0,
    load: int = 0,
    known: FunctionStatus | None = None,
    standing_in_the_way: CreateFailure | None = None,
    **worker: Any,
) -> FunctionStatus:
    spec = FunctionSpec(spec_name="g1", image="i")
    function = Function(
        metadata=ObjectMeta(name="fn", generation=4), spec=spec, status=known or FunctionStatus()
    )
    workers = tuple(
        ObservedWorker(f"w{at}", at, state, **worker) for at, state in enumerate(states)
    )
    scene = ScalingSnapshot(spec=spec, load=QueueLoad(queued=load), workers=workers, now=0)
    return build_status(function, scene, desired, standing_in_the_way, NOW)


@pytest.mark.parametrize(
    ("made", "phase", "reason"),
    [
        (said(), "Idle", FunctionReason.IDLE),
        (said(desired=1), "Scaling", FunctionReason.SCALING),
        (said(STARTING, desired=1), "Scaling", FunctionReason.SCALING),
        (said(READY, desired=1), "Ready", FunctionReason.READY),
        (said(READY, READY, desired=1), "Ready", FunctionReason.READY),
        (said(READY, desired=1, is_current=False), "Scaling", FunctionReason.SCALING),
        (said(WorkerState.FAILED, desired=1), "Degraded", FunctionReason.WORKER_FAILED),
        (said(WorkerState.LOST, desired=1), "Degraded", FunctionReason.WORKER_FAILED),
        (said(WorkerState.GOING), "Idle", FunctionReason.IDLE),
    ],
)
def test_the_phase_follows_the_workers(made: FunctionStatus, phase: str, reason: str) -> None:
    assert (made.phase, made.conditions[0].reason) == (phase, reason)
    assert made.observed_generation == 4


@pytest.mark.parametrize(
    ("answer", "phase", "reason"),
    [
        (Rejected("insufficient_capacity", "none"), "Degraded", FunctionReason.INSUFFICIENT_STOCK),
        (Rejected("invalid_request", "bad"), "Failed", FunctionReason.INVALID_SPEC),
        (Rejected("forbidden", "no"), "Degraded", FunctionReason.WORKER_REFUSED),
        (Pending("later"), "Scaling", FunctionReason.SCALING),
    ],
)
def test_a_create_failure_is_reported_before_the_phase_of_the_workers(
    answer: Rejected | Pending, phase: str, reason: str
) -> None:
    made = said(READY, desired=2, standing_in_the_way=next_create_failure(answer, None, 0.0))
    assert (made.phase, made.conditions[0].reason) == (phase, reason)


def test_each_failure_waits_longer_than_the_one_before_up_to_a_bound() -> None:
    found: CreateFailure | None = None
    pauses = []
    for _ in range(8):
        found = next_create_failure(Rejected("insufficient_capacity", "none"), found, 100.0)
        pauses.append(found.retry_at - 100.0)
    assert pauses == [1, 2, 4, 8, 16, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS]


def test_an_unchanged_snapshot_gives_the_same_status_later() -> None:
    first = said(READY, desired=1, load=1)
    assert first.last_activity_time == "2026-01-01T00:00:00Z"
    assert said(READY, desired=1, load=1, known=first) == first
    rested = FunctionStatus(last_activity_time=(NOW - timedelta(hours=1)).strftime("%FT%TZ"))
    assert said(known=rested).last_activity_time == rested.last_activity_time
