"""What the sweep does with a record, in every state and surrounding."""

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from serverless.activator.sweep.decision import (
    QUIET_MS,
    Facts,
    Home,
    Leave,
    Message,
    Queue,
    Settle,
    Step,
    Tell,
    decide,
)
from shared.invocation.message import Call
from shared.invocation.record import Record, Request
from shared.invocation.state import FINAL, FailureClass, State

NOW = 10_000_000
QUIET, BUSY = NOW - QUIET_MS, NOW - QUIET_MS + 1
OPEN = [State.QUEUED, State.RUNNING, State.CANCELLING]


def a_record(state: State = State.QUEUED, **changes: Any) -> Record:
    made = Record(
        function_uid="f",
        hash="h",
        accepted_at=NOW - 60_000,
        request=Request(ttl_seconds=3600),
        state=state,
        attempts=1,
        worker="w",
        run=2,
    )
    return replace(made, **changes)


def a_message(run: int = 2, function_uid: str = "f") -> Message:
    call = Call(function_uid=function_uid, request_id="r", invocation_id="i", run=run)
    return Message(7, call)


def step(record: Record, **changes: Any) -> Step:
    facts: dict[str, Any] = {
        "changed_at": QUIET,
        "message": None,
        "is_worker_alive": False,
        "home": Home.STANDS,
        "now": NOW,
    }
    return decide(Facts(record=record, **{**facts, **changes}))


def test_a_queued_one_without_a_message_is_queued_again() -> None:
    assert step(a_record()) == Queue()


@pytest.mark.parametrize(("run", "uid"), [(1, "f"), (2, "of another function")])
def test_the_message_of_another_run_or_function_gives_way(run: int, uid: str) -> None:
    assert step(a_record(), message=a_message(run, uid)) == Queue()


@pytest.mark.parametrize("message", [a_message(), Message(7, None)])
def test_a_queued_one_with_its_message_is_left_to_the_workers(message: Message) -> None:
    assert step(a_record(), message=message) == Leave()


def test_a_running_one_that_nobody_runs_is_queued_again() -> None:
    wanted = step(a_record(State.RUNNING, sequence=7))
    assert isinstance(wanted, Queue)
    assert wanted.record is not None
    assert (wanted.record.state, wanted.record.attempts) == (State.QUEUED, 1)


def test_a_cancelling_one_that_nobody_runs_is_cancelled() -> None:
    wanted = step(a_record(State.CANCELLING))
    assert isinstance(wanted, Settle)
    assert wanted.record.state is State.CANCELLED


@pytest.mark.parametrize("state", [State.RUNNING, State.CANCELLING])
@pytest.mark.parametrize("around", [{"message": a_message()}, {"is_worker_alive": True}])
def test_one_with_a_message_or_a_live_worker_is_left_alone(
    state: State, around: dict[str, Any]
) -> None:
    assert step(a_record(state), **around) == Leave()


@pytest.mark.parametrize("state", OPEN)
def test_what_has_changed_lately_is_not_touched(state: State) -> None:
    for home, message in product((Home.STANDS, Home.GONE), (None, a_message())):
        assert step(a_record(state), changed_at=BUSY, home=home, message=message) == Leave()


@pytest.mark.parametrize(
    ("state", "late_ms", "ends_as"),
    [
        (State.QUEUED, 5_000, None),
        (State.QUEUED, 5_001, State.EXPIRED),
        (State.RUNNING, 7_000, None),
        (State.RUNNING, 7_001, State.EXPIRED),
        (State.CANCELLING, 7_001, State.CANCELLED),
    ],
)
@pytest.mark.parametrize("changed_at", [QUIET, BUSY])
def test_an_overdue_one_ends_however_lately_it_changed(
    state: State, late_ms: int, ends_as: State | None, changed_at: int
) -> None:
    record = a_record(state, accepted_at=NOW - 3_600_000 - late_ms)
    around: dict[str, Any] = {"message": a_message(), "is_worker_alive": True}
    wanted = step(record, changed_at=changed_at, **around)
    assert (wanted.record.state if isinstance(wanted, Settle) else None) == ends_as


@pytest.mark.parametrize("state", OPEN)
@pytest.mark.parametrize(("home", "changed_at"), [(Home.GONE, QUIET), (Home.PURGED, NOW)])
def test_without_its_function_an_open_one_is_cancelled(
    state: State, home: Home, changed_at: int
) -> None:
    wanted = step(a_record(state), home=home, changed_at=changed_at, message=a_message())
    assert isinstance(wanted, Settle)
    assert wanted.record.state is State.CANCELLED
    assert wanted.record.result
    assert wanted.record.result.failure_class == FailureClass.FUNCTION_DELETED


@pytest.mark.parametrize("state", sorted(FINAL))
@pytest.mark.parametrize("home", Home)
def test_a_final_one_is_told_once_it_is_quiet_and_never_changed(state: State, home: Home) -> None:
    record = a_record(state, accepted_at=0)
    assert step(record, home=home) == Tell()
    assert step(record, home=home, changed_at=BUSY) == Leave()
    assert step(replace(record, published=True), home=home) == Leave()


@pytest.mark.parametrize("state", OPEN)
def test_nothing_open_stays_open_for_ever(state: State) -> None:
    """Whatever is around it: once its time is over it ends."""
    record = a_record(state, accepted_at=0)
    for home, alive, message in product(Home, (True, False), (None, a_message(), Message(1, None))):
        wanted = step(record, home=home, is_worker_alive=alive, message=message)
        assert isinstance(wanted, Settle)
        assert wanted.record.is_final
