"""Tests of the invocations checker: it finds every kind of violation of the guarantee."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from shared.invocation import transition
from shared.invocation.message import DeadLetterMessage, call_message, outcome_message
from shared.invocation.record import InvocationRecord, InvocationRequest, InvocationResult
from shared.invocation.state import FailureClass, InvocationState
from tests.support.checks.invocation_checks import (
    Execution,
    InvocationSnapshot,
    RecordVersion,
    find_violations,
    is_finished,
)

KEY = "fn.i"


def history(*records: InvocationRecord) -> tuple[RecordVersion, ...]:
    return tuple(RecordVersion(record, 1000 * number) for number, record in enumerate(records, 1))


QUEUED = transition.new_record(InvocationRequest(max_attempts=2), "uid", "h", 0)
RUNNING = transition.attempt_started(QUEUED, "w", 7, 1)
DONE = transition.finished(RUNNING, InvocationState.SUCCEEDED, InvocationResult(status_code=200), 2)
PUBLISHED = transition.published(DONE)
GOOD = InvocationSnapshot(
    accepted=(KEY,),
    versions={KEY: history(QUEUED, RUNNING, DONE, PUBLISHED)},
    outcomes=(outcome_message("fn", "i", DONE),),
    dead_letters=(),
    executions=(Execution("i", 1, 1, 2500),),
)


def with_history(*records: InvocationRecord) -> InvocationSnapshot:
    return replace(GOOD, versions={KEY: history(*records)})


def test_a_correct_invocation_has_no_violations() -> None:
    assert find_violations(GOOD) == []
    assert is_finished(GOOD)


def test_a_correct_second_run_has_no_violations() -> None:
    rerun = transition.redriven(PUBLISHED, 3)
    dead = transition.dead_lettered(rerun, "why", FailureClass.ATTEMPTS_EXHAUSTED, 4)
    letter = DeadLetterMessage(
        reason="why", failure_class="attempts_exhausted", call=call_message("fn", "i", dead)
    )
    snapshot = replace(
        with_history(QUEUED, RUNNING, DONE, PUBLISHED, rerun, dead, transition.published(dead)),
        outcomes=(*GOOD.outcomes, outcome_message("fn", "i", dead)),
        dead_letters=(letter,),
    )
    assert find_violations(snapshot) == []


VIOLATIONS: dict[str, Callable[[], InvocationSnapshot]] = {
    "a record is lost": lambda: replace(GOOD, versions={}),
    "it is never finished": lambda: with_history(QUEUED, RUNNING),
    "a message is left": lambda: replace(GOOD, queued_keys=(KEY,)),
    "it ends twice": lambda: with_history(QUEUED, RUNNING, DONE, changed(DONE, state="failed")),
    "it runs after its end": lambda: with_history(QUEUED, RUNNING, DONE, RUNNING, PUBLISHED),
    "it has too many attempts": lambda: with_history(
        QUEUED, changed(RUNNING, attempts=3), changed(PUBLISHED, attempts=3)
    ),
    "an attempt is not counted": lambda: with_history(
        QUEUED, changed(RUNNING, attempts=2), changed(PUBLISHED, attempts=2)
    ),
    "no outcome is published": lambda: replace(GOOD, outcomes=()),
    "two outcomes are published": lambda: replace(
        GOOD, outcomes=(*GOOD.outcomes, changed(GOOD.outcomes[0], attempts=2))
    ),
    "another outcome is published": lambda: replace(
        GOOD, outcomes=(changed(GOOD.outcomes[0], worker="x"),)
    ),
    "a succeeded run is dead-lettered": lambda: replace(
        GOOD,
        dead_letters=(
            DeadLetterMessage(reason="", failure_class="", call=call_message("fn", "i", DONE)),
        ),
    ),
    "an attempt is executed twice": lambda: replace(
        GOOD, executions=(*GOOD.executions, *GOOD.executions)
    ),
    "an unknown attempt is executed": lambda: replace(
        GOOD, executions=(Execution("i", 1, 2, 2500),)
    ),
    "it is executed after its end": lambda: replace(GOOD, executions=(Execution("i", 1, 1, 3999),)),
}


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_every_kind_of_violation_is_found(violation: str) -> None:
    assert find_violations(VIOLATIONS[violation]()) != []
