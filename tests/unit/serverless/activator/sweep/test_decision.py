"""Tests of the sweep's decision about a record, in every state and situation."""

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from serverless.activator.sweep.decision import (
    QUIET_MS,
    Existence,
    Finish,
    PublishOutcome,
    QueuedCall,
    RecordFacts,
    Requeue,
    Skip,
    SweepAction,
    decide,
)
from shared.invocation.message import CallMessage
from shared.invocation.record import InvocationRecord, InvocationRequest
from shared.invocation.state import FINAL_STATES, FailureClass, InvocationState

NOW = 10_000_000
QUIET, BUSY = NOW - QUIET_MS, NOW - QUIET_MS + 1
OPEN = [InvocationState.QUEUED, InvocationState.RUNNING, InvocationState.CANCELLING]


def a_record(state: InvocationState = InvocationState.QUEUED, **changes: Any) -> InvocationRecord:
    record = InvocationRecord(
        function_uid="f",
        hash="h",
        accepted_at=NOW - 60_000,
        request=InvocationRequest(ttl_seconds=3600),
        state=state,
        attempts=1,
        worker="w",
        run=2,
    )
    return replace(record, **changes)


def a_call(run: int = 2, function_uid: str = "f") -> QueuedCall:
    call = CallMessage(function_uid=function_uid, function_name="r", invocation_id="i", run=run)
    return QueuedCall(7, call)


def decide_on(record: InvocationRecord, **changes: Any) -> SweepAction:
    defaults: dict[str, Any] = {
        "changed_at": QUIET,
        "queued_call": None,
        "is_worker_alive": False,
        "existence": Existence.PRESENT,
        "now": NOW,
    }
    return decide(RecordFacts(record=record, **{**defaults, **changes}))


def test_a_queued_record_without_a_message_is_queued_again() -> None:
    assert decide_on(a_record()) == Requeue()


@pytest.mark.parametrize(("run", "uid"), [(1, "f"), (2, "of another function")])
def test_the_message_of_another_run_or_function_is_replaced(run: int, uid: str) -> None:
    assert decide_on(a_record(), queued_call=a_call(run, uid)) == Requeue()


@pytest.mark.parametrize("message", [a_call(), QueuedCall(7, None)])
def test_a_queued_record_with_its_message_is_skipped(message: QueuedCall) -> None:
    assert decide_on(a_record(), queued_call=message) == Skip()


def test_a_running_record_without_a_worker_is_queued_again() -> None:
    action = decide_on(a_record(InvocationState.RUNNING, sequence=7))
    assert isinstance(action, Requeue)
    assert action.record is not None
    assert (action.record.state, action.record.attempts) == (InvocationState.QUEUED, 1)


def test_a_cancelling_record_without_a_worker_is_cancelled() -> None:
    action = decide_on(a_record(InvocationState.CANCELLING))
    assert isinstance(action, Finish)
    assert action.record.state is InvocationState.CANCELLED


@pytest.mark.parametrize("state", [InvocationState.RUNNING, InvocationState.CANCELLING])
@pytest.mark.parametrize("facts", [{"queued_call": a_call()}, {"is_worker_alive": True}])
def test_a_record_with_a_message_or_a_live_worker_is_skipped(
    state: InvocationState, facts: dict[str, Any]
) -> None:
    assert decide_on(a_record(state), **facts) == Skip()


@pytest.mark.parametrize("state", OPEN)
def test_a_recently_changed_record_is_skipped(state: InvocationState) -> None:
    for existence, message in product((Existence.PRESENT, Existence.GONE), (None, a_call())):
        assert (
            decide_on(a_record(state), changed_at=BUSY, existence=existence, queued_call=message)
            == Skip()
        )


@pytest.mark.parametrize(
    ("state", "late_ms", "ends_as"),
    [
        (InvocationState.QUEUED, 5_000, None),
        (InvocationState.QUEUED, 5_001, InvocationState.EXPIRED),
        (InvocationState.RUNNING, 7_000, None),
        (InvocationState.RUNNING, 7_001, InvocationState.EXPIRED),
        (InvocationState.CANCELLING, 7_001, InvocationState.CANCELLED),
    ],
)
@pytest.mark.parametrize("changed_at", [QUIET, BUSY])
def test_an_overdue_record_is_finished_even_if_it_changed_recently(
    state: InvocationState, late_ms: int, ends_as: InvocationState | None, changed_at: int
) -> None:
    record = a_record(state, accepted_at=NOW - 3_600_000 - late_ms)
    facts: dict[str, Any] = {"queued_call": a_call(), "is_worker_alive": True}
    action = decide_on(record, changed_at=changed_at, **facts)
    assert (action.record.state if isinstance(action, Finish) else None) == ends_as


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize(
    ("existence", "changed_at"), [(Existence.GONE, QUIET), (Existence.PURGING, NOW)]
)
def test_an_open_record_without_its_function_is_cancelled(
    state: InvocationState, existence: Existence, changed_at: int
) -> None:
    action = decide_on(
        a_record(state), existence=existence, changed_at=changed_at, queued_call=a_call()
    )
    assert isinstance(action, Finish)
    assert action.record.state is InvocationState.CANCELLED
    assert action.record.result
    assert action.record.result.failure_class == FailureClass.FUNCTION_DELETED


@pytest.mark.parametrize("state", sorted(FINAL_STATES))
@pytest.mark.parametrize("existence", Existence)
def test_the_outcome_of_a_quiet_final_record_is_published_once(
    state: InvocationState, existence: Existence
) -> None:
    record = a_record(state, accepted_at=0)
    assert decide_on(record, existence=existence) == PublishOutcome()
    assert decide_on(record, existence=existence, changed_at=BUSY) == Skip()
    assert decide_on(replace(record, published=True), existence=existence) == Skip()


@pytest.mark.parametrize("state", OPEN)
def test_every_open_record_is_finished_once_it_is_overdue(state: InvocationState) -> None:
    """Check that an overdue record ends in every situation."""
    record = a_record(state, accepted_at=0)
    for existence, alive, message in product(
        Existence, (True, False), (None, a_call(), QueuedCall(1, None))
    ):
        action = decide_on(record, existence=existence, is_worker_alive=alive, queued_call=message)
        assert isinstance(action, Finish)
        assert action.record.is_final
