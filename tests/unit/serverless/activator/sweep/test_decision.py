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
    made = InvocationRecord(
        function_uid="f",
        hash="h",
        accepted_at=NOW - 60_000,
        request=InvocationRequest(ttl_seconds=3600),
        state=state,
        attempts=1,
        worker="w",
        run=2,
    )
    return replace(made, **changes)


def a_message(run: int = 2, function_uid: str = "f") -> QueuedCall:
    call = CallMessage(function_uid=function_uid, function_name="r", invocation_id="i", run=run)
    return QueuedCall(7, call)


def step(record: InvocationRecord, **changes: Any) -> SweepAction:
    facts: dict[str, Any] = {
        "changed_at": QUIET,
        "queued_call": None,
        "is_worker_alive": False,
        "existence": Existence.PRESENT,
        "now": NOW,
    }
    return decide(RecordFacts(record=record, **{**facts, **changes}))


def test_a_queued_record_without_a_message_is_queued_again() -> None:
    assert step(a_record()) == Requeue()


@pytest.mark.parametrize(("run", "uid"), [(1, "f"), (2, "of another function")])
def test_the_message_of_another_run_or_function_is_replaced(run: int, uid: str) -> None:
    assert step(a_record(), queued_call=a_message(run, uid)) == Requeue()


@pytest.mark.parametrize("message", [a_message(), QueuedCall(7, None)])
def test_a_queued_record_with_its_message_is_left_to_the_workers(message: QueuedCall) -> None:
    assert step(a_record(), queued_call=message) == Skip()


def test_a_running_record_without_a_worker_is_queued_again() -> None:
    wanted = step(a_record(InvocationState.RUNNING, sequence=7))
    assert isinstance(wanted, Requeue)
    assert wanted.record is not None
    assert (wanted.record.state, wanted.record.attempts) == (InvocationState.QUEUED, 1)


def test_a_cancelling_record_without_a_worker_is_cancelled() -> None:
    wanted = step(a_record(InvocationState.CANCELLING))
    assert isinstance(wanted, Finish)
    assert wanted.record.state is InvocationState.CANCELLED


@pytest.mark.parametrize("state", [InvocationState.RUNNING, InvocationState.CANCELLING])
@pytest.mark.parametrize("around", [{"queued_call": a_message()}, {"is_worker_alive": True}])
def test_a_record_with_a_message_or_a_live_worker_is_left_alone(
    state: InvocationState, around: dict[str, Any]
) -> None:
    assert step(a_record(state), **around) == Skip()


@pytest.mark.parametrize("state", OPEN)
def test_a_recently_changed_record_is_left_alone(state: InvocationState) -> None:
    for home, message in product((Existence.PRESENT, Existence.GONE), (None, a_message())):
        assert step(a_record(state), changed_at=BUSY, existence=home, queued_call=message) == Skip()


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
def test_an_overdue_record_ends_however_recently_it_changed(
    state: InvocationState, late_ms: int, ends_as: InvocationState | None, changed_at: int
) -> None:
    record = a_record(state, accepted_at=NOW - 3_600_000 - late_ms)
    around: dict[str, Any] = {"queued_call": a_message(), "is_worker_alive": True}
    wanted = step(record, changed_at=changed_at, **around)
    assert (wanted.record.state if isinstance(wanted, Finish) else None) == ends_as


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize(
    ("home", "changed_at"), [(Existence.GONE, QUIET), (Existence.PURGING, NOW)]
)
def test_an_open_record_without_its_function_is_cancelled(
    state: InvocationState, home: Existence, changed_at: int
) -> None:
    wanted = step(a_record(state), existence=home, changed_at=changed_at, queued_call=a_message())
    assert isinstance(wanted, Finish)
    assert wanted.record.state is InvocationState.CANCELLED
    assert wanted.record.result
    assert wanted.record.result.failure_class == FailureClass.FUNCTION_DELETED


@pytest.mark.parametrize("state", sorted(FINAL_STATES))
@pytest.mark.parametrize("home", Existence)
def test_the_outcome_of_a_quiet_final_record_is_published_and_the_record_stays(
    state: InvocationState, home: Existence
) -> None:
    record = a_record(state, accepted_at=0)
    assert step(record, existence=home) == PublishOutcome()
    assert step(record, existence=home, changed_at=BUSY) == Skip()
    assert step(replace(record, published=True), existence=home) == Skip()


@pytest.mark.parametrize("state", OPEN)
def test_every_open_record_ends_once_it_is_overdue(state: InvocationState) -> None:
    """Check that an overdue record ends in every situation."""
    record = a_record(state, accepted_at=0)
    for home, alive, message in product(
        Existence, (True, False), (None, a_message(), QueuedCall(1, None))
    ):
        wanted = step(record, existence=home, is_worker_alive=alive, queued_call=message)
        assert isinstance(wanted, Finish)
        assert wanted.record.is_final
