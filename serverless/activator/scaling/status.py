"""Builds the status of a Function from its workers, its load and the last failure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from controller.runtime import truncate
from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.workers.create_backoff import CreateFailure
from shared.k8s.conditions import find_condition, with_condition
from shared.k8s.meta import Condition
from shared.time import format_timestamp, ms_to_datetime, timestamp_to_ms
from shared.v1alpha1.function import Function, FunctionStatus
from shared.v1alpha1.phases import FunctionPhase
from shared.v1alpha1.reasons import ConditionType, FunctionReason

MAX_MESSAGE_BYTES: Final = 1024
# A more precise time would cost many writes and help no reader.
ACTIVITY_RESOLUTION_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class FunctionReadiness:
    """The phase, reason and message of a function."""

    phase: FunctionPhase
    reason: FunctionReason
    message: str


def build_status(
    function: Function,
    snapshot: ScalingSnapshot,
    desired: int,
    create_failure: CreateFailure | None,
    now: datetime,
) -> FunctionStatus:
    """Return the status; apart from times, equal snapshots give an equal status."""
    old, active = function.status, snapshot.active_workers
    readiness = assess_readiness(active, desired, create_failure)
    return msgspec.structs.replace(
        old,
        phase=readiness.phase,
        desired_workers=desired,
        workers=len(active),
        ready_workers=len(ready_workers(active)),
        queued=snapshot.load.queued,
        running=snapshot.load.running,
        last_activity_time=last_activity_time(old.last_activity_time, snapshot.load, now),
        observed_generation=function.metadata.generation,
        conditions=with_condition(old.conditions, build_ready_condition(function, readiness, now)),
    )


def assess_readiness(
    active_workers: Sequence[ObservedWorker], desired: int, create_failure: CreateFailure | None
) -> FunctionReadiness:
    """Return the readiness; a cause that a user must fix comes before one that passes."""
    if create_failure is not None and create_failure.reason is not FunctionReason.SCALING:
        phase = FunctionPhase.FAILED if create_failure.is_invalid else FunctionPhase.DEGRADED
        return FunctionReadiness(phase, create_failure.reason, create_failure.message)
    for worker in active_workers:
        if worker.state in (WorkerState.FAILED, WorkerState.LOST):
            text = f"{worker.name}: {worker.reason_text}"
            return FunctionReadiness(FunctionPhase.DEGRADED, FunctionReason.WORKER_FAILED, text)
    if not active_workers and not desired:
        return FunctionReadiness(
            FunctionPhase.IDLE, FunctionReason.IDLE, "no invocations are queued"
        )
    return assess_progress(active_workers, desired, create_failure)


def assess_progress(
    active_workers: Sequence[ObservedWorker], desired: int, create_failure: CreateFailure | None
) -> FunctionReadiness:
    """Return how many of the needed workers are ready."""
    number = len(ready_workers(active_workers))
    outdated = sum(not worker.is_current for worker in active_workers)
    text = f"{number} of {len(active_workers)} workers are ready, {desired} needed"
    if number == len(active_workers) >= desired and not outdated:
        return FunctionReadiness(FunctionPhase.READY, FunctionReason.READY, text)
    more = f", {outdated} to be replaced" if outdated else ""
    cause = f": {create_failure.message}" if create_failure else ""
    return FunctionReadiness(FunctionPhase.SCALING, FunctionReason.SCALING, f"{text}{more}{cause}")


def build_ready_condition(
    function: Function, readiness: FunctionReadiness, now: datetime
) -> Condition:
    """Return the Ready condition; an idle function is ready to be called."""
    is_ready = readiness.phase in (FunctionPhase.READY, FunctionPhase.IDLE)
    return Condition(
        type=ConditionType.READY,
        status="True" if is_ready else "False",
        observed_generation=function.metadata.generation,
        last_transition_time=format_timestamp(now),
        reason=readiness.reason,
        message=truncate(readiness.message, MAX_MESSAGE_BYTES),
    )


def last_activity_time(previous: str, load: QueueLoad, now: datetime) -> str:
    """Return when the function last had an invocation, to ten seconds."""
    is_recent = now - timedelta(seconds=ACTIVITY_RESOLUTION_SECONDS) < ms_to_datetime(
        timestamp_to_ms(previous)
    )
    return previous if not load.total or is_recent else format_timestamp(now)


def ready_workers(workers: Sequence[ObservedWorker]) -> list[ObservedWorker]:
    """Return the workers that can run invocations."""
    return [worker for worker in workers if worker.state is WorkerState.READY]


def ready_message(status: FunctionStatus) -> str:
    """Return the message of the Ready condition."""
    condition = find_condition(status.conditions, ConditionType.READY)
    return "" if condition is None else condition.message
