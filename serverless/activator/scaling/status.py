"""What a Function's status says, from its workers, its load and what stands in the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from controller.runtime.events.event import truncate
from serverless.activator.queue_depths import QueueLoad
from serverless.activator.scaling.observed_worker import ObservedWorker, WorkerState
from serverless.activator.scaling.plan import ScalingSnapshot
from serverless.activator.timestamps import parse_timestamp_ms
from serverless.activator.workers.create_backoff import CreateFailure
from shared.k8s.conditions import find_condition, format_timestamp, with_condition
from shared.k8s.meta import Condition
from shared.v1alpha1.function import Function, FunctionStatus
from shared.v1alpha1.phases import FunctionPhase
from shared.v1alpha1.reasons import ConditionType, FunctionReason

MAX_MESSAGE_BYTES: Final = 1024
# Whether there was work now or a moment ago makes no difference to anybody, but costs a write.
ACTIVITY_RESOLUTION_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class FunctionReadiness:
    """How the function is, in one word, one reason and one sentence."""

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
    """The status; times aside, the same sight gives the same status."""
    known, staying = function.status, snapshot.active_workers
    said = assess_readiness(staying, desired, create_failure)
    return msgspec.structs.replace(
        known,
        phase=said.phase,
        desired_workers=desired,
        workers=len(staying),
        ready_workers=len(ready_workers(staying)),
        queued=snapshot.load.queued,
        running=snapshot.load.running,
        last_activity_time=last_activity_time(known.last_activity_time, snapshot.load, now),
        observed_generation=function.metadata.generation,
        conditions=with_condition(known.conditions, build_ready_condition(function, said, now)),
    )


def assess_readiness(
    active_workers: Sequence[ObservedWorker], desired: int, create_failure: CreateFailure | None
) -> FunctionReadiness:
    """The first that applies, from what a person must mend to what time mends."""
    if create_failure is not None and create_failure.reason is not FunctionReason.SCALING:
        phase = FunctionPhase.FAILED if create_failure.is_invalid else FunctionPhase.DEGRADED
        return FunctionReadiness(phase, create_failure.reason, create_failure.message)
    for each in active_workers:
        if each.state in (WorkerState.FAILED, WorkerState.LOST):
            text = f"{each.name}: {each.reason_text}"
            return FunctionReadiness(FunctionPhase.DEGRADED, FunctionReason.WORKER_FAILED, text)
    if not active_workers and not desired:
        return FunctionReadiness(FunctionPhase.IDLE, FunctionReason.IDLE, "nothing is asked of it")
    return assess_progress(active_workers, desired, create_failure)


def assess_progress(
    active_workers: Sequence[ObservedWorker], desired: int, create_failure: CreateFailure | None
) -> FunctionReadiness:
    """How far the workers are from what is needed."""
    number, outdated = (
        len(ready_workers(active_workers)),
        sum(not each.is_current for each in active_workers),
    )
    text = f"{number} of {len(active_workers)} workers are ready, {desired} needed"
    if number == len(active_workers) >= desired and not outdated:
        return FunctionReadiness(FunctionPhase.READY, FunctionReason.READY, text)
    more = f", {outdated} to be replaced" if outdated else ""
    why = f": {create_failure.message}" if create_failure else ""
    return FunctionReadiness(FunctionPhase.SCALING, FunctionReason.SCALING, f"{text}{more}{why}")


def build_ready_condition(
    function: Function, readiness: FunctionReadiness, now: datetime
) -> Condition:
    """The condition Ready; a function that nobody calls is ready to be called."""
    is_right = readiness.phase in (FunctionPhase.READY, FunctionPhase.IDLE)
    return Condition(
        type=ConditionType.READY,
        status="True" if is_right else "False",
        observed_generation=function.metadata.generation,
        last_transition_time=format_timestamp(now),
        reason=readiness.reason,
        message=truncate(readiness.message, MAX_MESSAGE_BYTES),
    )


def last_activity_time(previous: str, load: QueueLoad, now: datetime) -> str:
    """When there was work last, to a few seconds."""
    is_fresh = now - timedelta(seconds=ACTIVITY_RESOLUTION_SECONDS) < parse_datetime(previous, now)
    return previous if not load.total or is_fresh else format_timestamp(now)


def parse_datetime(text: str, now: datetime) -> datetime:
    return datetime.fromtimestamp(parse_timestamp_ms(text) / 1000, now.tzinfo)


def ready_workers(workers: Sequence[ObservedWorker]) -> list[ObservedWorker]:
    """Those that can take work."""
    return [each for each in workers if each.state is WorkerState.READY]


def ready_message(status: FunctionStatus) -> str:
    """What the status tells people."""
    found = find_condition(status.conditions, ConditionType.READY)
    return "" if found is None else found.message
