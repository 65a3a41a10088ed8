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


def status_of(
    *states: WorkerState,
    desired: int = 0,
    load: int = 0,
    previous: FunctionStatus | None = None,
    create_failure: CreateFailure | None = None,
    **worker: Any,
) -> FunctionStatus:
    spec = FunctionSpec(spec_name="g1", image="i")
    function = Function(
        metadata=ObjectMeta(name="fn", generation=4), spec=spec, status=previous or FunctionStatus()
    )
    workers = tuple(
        ObservedWorker(f"w{number}", number, state, **worker) for number, state in enumerate(states)
    )
    snapshot = ScalingSnapshot(spec=spec, load=QueueLoad(queued=load), workers=workers, now=0)
    return build_status(function, snapshot, desired, create_failure, NOW)


@pytest.mark.parametrize(
    ("status", "phase", "reason"),
    [
        (status_of(), "Idle", FunctionReason.IDLE),
        (status_of(desired=1), "Scaling", FunctionReason.SCALING),
        (status_of(STARTING, desired=1), "Scaling", FunctionReason.SCALING),
        (status_of(READY, desired=1), "Ready", FunctionReason.READY),
        (status_of(READY, READY, desired=1), "Ready", FunctionReason.READY),
        (status_of(READY, desired=1, is_current=False), "Scaling", FunctionReason.SCALING),
        (status_of(WorkerState.FAILED, desired=1), "Degraded", FunctionReason.WORKER_FAILED),
        (status_of(WorkerState.LOST, desired=1), "Degraded", FunctionReason.WORKER_FAILED),
        (status_of(WorkerState.GOING), "Idle", FunctionReason.IDLE),
    ],
)
def test_the_phase_follows_the_workers(status: FunctionStatus, phase: str, reason: str) -> None:
    assert (status.phase, status.conditions[0].reason) == (phase, reason)
    assert status.observed_generation == 4


@pytest.mark.parametrize(
    ("response", "phase", "reason"),
    [
        (Rejected("insufficient_capacity", "none"), "Degraded", FunctionReason.INSUFFICIENT_STOCK),
        (Rejected("invalid_request", "bad"), "Failed", FunctionReason.INVALID_SPEC),
        (Rejected("forbidden", "no"), "Degraded", FunctionReason.WORKER_REFUSED),
        (Pending("later"), "Scaling", FunctionReason.SCALING),
    ],
)
def test_a_create_failure_is_reported_before_the_phase_of_the_workers(
    response: Rejected | Pending, phase: str, reason: str
) -> None:
    status = status_of(READY, desired=2, create_failure=next_create_failure(response, None, 0.0))
    assert (status.phase, status.conditions[0].reason) == (phase, reason)


def test_the_back_off_doubles_after_each_failure_up_to_a_maximum() -> None:
    failure: CreateFailure | None = None
    delays = []
    for _ in range(8):
        failure = next_create_failure(Rejected("insufficient_capacity", "none"), failure, 100.0)
        delays.append(failure.retry_at - 100.0)
    assert delays == [1, 2, 4, 8, 16, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS]


def test_an_unchanged_snapshot_gives_the_same_status_later() -> None:
    first = status_of(READY, desired=1, load=1)
    assert first.last_activity_time == "2026-01-01T00:00:00Z"
    assert status_of(READY, desired=1, load=1, previous=first) == first
    idle = FunctionStatus(last_activity_time=(NOW - timedelta(hours=1)).strftime("%FT%TZ"))
    assert status_of(previous=idle).last_activity_time == idle.last_activity_time
