"""Tests of the decision: exactly one is correct for each message, record and time."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from serverless.worker.consume.decision import (
    Acknowledge,
    Decision,
    Finish,
    Postpone,
    PublishOutcome,
    SendToDeadLetters,
    StartAttempt,
    WorkerIdentity,
    decide,
)
from serverless.worker.deadlines import attempt_deadline
from serverless.worker.delivery import Delivery
from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.message import CallMessage
from shared.invocation.record import InvocationRecord, InvocationRequest
from shared.invocation.state import FINAL_STATES, InvocationState

ACCEPTED = 1_000_000
TTL = 600
OVERDUE = ACCEPTED + TTL * 1000
SKEW = MAX_CLOCK_SKEW_SECONDS * 1000
IDENTITY = WorkerIdentity("fn", "fn-1", "uid")
CALL = CallMessage(function_uid="uid", function_name="fn", invocation_id="i", run=2)
RECORD = InvocationRecord(
    function_uid="uid",
    run=2,
    hash="h",
    accepted_at=ACCEPTED,
    request=InvocationRequest(ttl_seconds=TTL, timeout_seconds=60, max_attempts=3),
)


def a_delivery(sequence: int = 7, at: int = ACCEPTED) -> Delivery:
    return Delivery("subject", "reply", b"", {}, sequence, at)


def record_in(state: InvocationState, attempts: int = 1, sequence: int = 7) -> InvocationRecord:
    return replace(RECORD, state=state, attempts=attempts, sequence=sequence)


def expected_decision(record: InvocationRecord, sequence: int, now: int) -> type[Decision]:
    """Return the decision by the specification's rules for a record of the message's own run."""
    if record.state in FINAL_STATES:
        return PublishOutcome
    if record.state is InvocationState.RUNNING and record.sequence != sequence:
        return Acknowledge
    if record.state is InvocationState.CANCELLING or now > OVERDUE + SKEW:
        return Finish
    return Finish if record.attempts >= 3 else StartAttempt


@pytest.mark.parametrize("state", InvocationState)
def test_the_decision_follows_the_specification_for_all_states_attempts_and_times(
    state: InvocationState,
) -> None:
    times = (ACCEPTED, OVERDUE, OVERDUE + SKEW, OVERDUE + SKEW + 1)
    for attempts, sequence, now in product(range(5), (7, 8), times):
        record = record_in(state, attempts, sequence)
        decision = decide(a_delivery(7), CALL, record, IDENTITY, now)
        assert type(decision) is expected_decision(record, 7, now), (attempts, sequence, now)


@pytest.mark.parametrize(
    ("record", "now", "state"),
    [
        (record_in(InvocationState.CANCELLING), ACCEPTED, InvocationState.CANCELLED),
        (record_in(InvocationState.CANCELLING, 9), OVERDUE * 2, InvocationState.CANCELLED),
        (record_in(InvocationState.QUEUED), OVERDUE * 2, InvocationState.EXPIRED),
        (record_in(InvocationState.QUEUED, 3), ACCEPTED, InvocationState.DEAD_LETTERED),
        (record_in(InvocationState.RUNNING, 3), ACCEPTED, InvocationState.DEAD_LETTERED),
    ],
)
def test_a_record_finished_without_a_run_has_a_reason(
    record: InvocationRecord, now: int, state: InvocationState
) -> None:
    decision = decide(a_delivery(), CALL, record, IDENTITY, now)
    assert isinstance(decision, Finish)
    assert (decision.record.state, decision.record.finished_at) == (state, now)
    assert decision.record.result is not None
    assert decision.record.result.error


def test_a_started_attempt_is_counted_and_names_its_worker() -> None:
    decision = decide(
        a_delivery(9), CALL, record_in(InvocationState.QUEUED, 1, 0), IDENTITY, ACCEPTED + 5
    )
    running = replace(
        RECORD,
        state=InvocationState.RUNNING,
        attempts=2,
        worker="fn-1",
        sequence=9,
        started_at=ACCEPTED + 5,
    )
    assert decision == StartAttempt(running)


@pytest.mark.parametrize("state", InvocationState)
def test_a_message_of_an_older_run_is_dropped(state: InvocationState) -> None:
    older_call = replace(CALL, run=1)
    assert decide(a_delivery(), older_call, record_in(state), IDENTITY, ACCEPTED) == Acknowledge()


@pytest.mark.parametrize(
    "record",
    [None, replace(RECORD, function_uid="another"), replace(RECORD, run=1)],
    ids=["none", "of another function", "of an older run"],
)
@pytest.mark.parametrize(
    ("age", "decision_type"), [(0, Postpone), (59_999, Postpone), (60_000, SendToDeadLetters)]
)
def test_a_message_without_a_record_is_postponed_for_a_minute_and_then_dead_lettered(
    record: InvocationRecord | None, age: int, decision_type: type[Decision]
) -> None:
    assert isinstance(decide(a_delivery(), CALL, record, IDENTITY, ACCEPTED + age), decision_type)


@pytest.mark.parametrize("record", [None, *map(record_in, InvocationState)])
def test_an_unreadable_message_is_always_dead_lettered(
    record: InvocationRecord | None,
) -> None:
    assert isinstance(decide(a_delivery(), None, record, IDENTITY, ACCEPTED), SendToDeadLetters)


@pytest.mark.parametrize("record", [*map(record_in, InvocationState)])
def test_a_message_of_a_deleted_function_of_the_same_name_is_dropped(
    record: InvocationRecord,
) -> None:
    older_call = replace(CALL, function_uid="before")
    assert decide(a_delivery(), older_call, record, IDENTITY, ACCEPTED) == Acknowledge()


@pytest.mark.parametrize("state", InvocationState)
def test_a_message_of_a_newer_function_of_the_same_name_is_postponed(
    state: InvocationState,
) -> None:
    newer_call = replace(CALL, function_uid="after")
    record = replace(record_in(state), function_uid="after")
    assert isinstance(decide(a_delivery(), newer_call, record, IDENTITY, ACCEPTED), Postpone)


def test_a_worker_without_a_function_uid_accepts_every_call_of_its_consumer() -> None:
    identity = WorkerIdentity("fn", "fn-desk")
    assert isinstance(decide(a_delivery(), CALL, RECORD, identity, ACCEPTED), StartAttempt)


records = st.builds(
    lambda state, attempts, sequence, run, uid: replace(
        RECORD, state=state, attempts=attempts, sequence=sequence, run=run, function_uid=uid
    ),
    st.sampled_from(InvocationState),
    st.integers(0, 5),
    st.integers(0, 9),
    st.integers(1, 3),
    st.sampled_from(("uid", "other")),
)


@given(st.none() | records, st.integers(0, 9), st.integers(0, OVERDUE * 2))
def test_final_expired_foreign_and_exhausted_records_do_not_run(
    record: InvocationRecord | None, sequence: int, now: int
) -> None:
    match decide(a_delivery(sequence), CALL, record, IDENTITY, now):
        case StartAttempt(running):
            assert record is not None
            assert not record.is_final
            assert (record.run, record.function_uid) == (CALL.run, CALL.function_uid)
            assert running.attempts == record.attempts + 1 <= record.request.max_attempts
            assert now <= OVERDUE + SKEW
        case Finish(final):
            assert record is not None
            assert not record.is_final
            assert final.is_final
            assert final.run == record.run == CALL.run
        case PublishOutcome(final):
            assert final is record
            assert final.is_final


def test_the_attempt_deadline_is_the_timeout_or_the_end_of_the_time_to_live() -> None:
    early = replace(RECORD, started_at=ACCEPTED)
    late = replace(RECORD, started_at=OVERDUE - 1000)
    assert attempt_deadline(early) == ACCEPTED + 60_000
    assert attempt_deadline(late) == OVERDUE + SKEW
