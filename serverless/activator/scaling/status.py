"""What a Function's status says, from its workers, its load and what stands in the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import msgspec

from controller.runtime.events.event import cut
from serverless.activator.scaling.observed_worker import Worker, WorkerState
from serverless.activator.scaling.plan import Load, Scene
from serverless.activator.timestamps import ms_of
from serverless.activator.workers.create_backoff import Trouble
from shared.k8s.conditions import condition_of, timestamp, with_condition
from shared.k8s.meta import Condition
from shared.v1alpha1.function import Function, FunctionStatus
from shared.v1alpha1.phases import FunctionPhase
from shared.v1alpha1.reasons import ConditionType, FunctionReason

LONGEST_BYTES: Final = 1024
# Whether there was work now or a moment ago makes no difference to anybody, but costs a write.
ACTIVITY_SECONDS: Final = 10


@dataclass(frozen=True, slots=True)
class Verdict:
    """How the function is, in one word, one reason and one sentence."""

    phase: FunctionPhase
    reason: FunctionReason
    message: str


def status(
    function: Function, scene: Scene, desired: int, trouble: Trouble | None, now: datetime
) -> FunctionStatus:
    """The status; times aside, the same sight gives the same status."""
    known, staying = function.status, scene.staying
    said = verdict(staying, desired, trouble)
    return msgspec.structs.replace(
        known,
        phase=said.phase,
        desired_workers=desired,
        workers=len(staying),
        ready_workers=len(ready(staying)),
        queued=scene.load.queued,
        running=scene.load.running,
        last_activity_time=activity(known.last_activity_time, scene.load, now),
        observed_generation=function.metadata.generation,
        conditions=with_condition(known.conditions, condition(function, said, now)),
    )


def verdict(staying: Sequence[Worker], desired: int, trouble: Trouble | None) -> Verdict:
    """The first that applies, from what a person must mend to what time mends."""
    if trouble is not None and trouble.reason is not FunctionReason.SCALING:
        phase = FunctionPhase.FAILED if trouble.is_invalid else FunctionPhase.DEGRADED
        return Verdict(phase, trouble.reason, trouble.text)
    for each in staying:
        if each.state in (WorkerState.FAILED, WorkerState.LOST):
            text = f"{each.name}: {each.why}"
            return Verdict(FunctionPhase.DEGRADED, FunctionReason.WORKER_FAILED, text)
    if not staying and not desired:
        return Verdict(FunctionPhase.IDLE, FunctionReason.IDLE, "nothing is asked of it")
    return progress(staying, desired, trouble)


def progress(staying: Sequence[Worker], desired: int, trouble: Trouble | None) -> Verdict:
    """How far the workers are from what is needed."""
    number, outdated = len(ready(staying)), sum(not each.is_current for each in staying)
    text = f"{number} of {len(staying)} workers are ready, {desired} needed"
    if number == len(staying) >= desired and not outdated:
        return Verdict(FunctionPhase.READY, FunctionReason.READY, text)
    more = f", {outdated} to be replaced" if outdated else ""
    why = f": {trouble.text}" if trouble else ""
    return Verdict(FunctionPhase.SCALING, FunctionReason.SCALING, f"{text}{more}{why}")


def condition(function: Function, said: Verdict, now: datetime) -> Condition:
    """The condition Ready; a function that nobody calls is ready to be called."""
    is_right = said.phase in (FunctionPhase.READY, FunctionPhase.IDLE)
    return Condition(
        type=ConditionType.READY,
        status="True" if is_right else "False",
        observed_generation=function.metadata.generation,
        last_transition_time=timestamp(now),
        reason=said.reason,
        message=cut(said.message, LONGEST_BYTES),
    )


def activity(known: str, load: Load, now: datetime) -> str:
    """When there was work last, to a few seconds."""
    is_fresh = now - timedelta(seconds=ACTIVITY_SECONDS) < moment(known, now)
    return known if not load.total or is_fresh else timestamp(now)


def moment(text: str, now: datetime) -> datetime:
    return datetime.fromtimestamp(ms_of(text) / 1000, now.tzinfo)


def ready(workers: Sequence[Worker]) -> list[Worker]:
    """Those that can take work."""
    return [each for each in workers if each.state is WorkerState.READY]


def message_of(said: FunctionStatus) -> str:
    """What the status tells people."""
    found = condition_of(said.conditions, ConditionType.READY)
    return "" if found is None else found.message
