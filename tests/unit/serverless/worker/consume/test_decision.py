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
ME = WorkerIdentity("fn", "fn-1", "uid")
CALL = CallMessage(function_uid="uid", function_name="fn", invocation_id="i", run=2)
RECORD = InvocationRecord(
    function_uid="uid",
    run=2,
    hash="h",
    accepted_at=ACCEPTED,
    request=InvocationRequest(ttl_seconds=TTL, timeout_seconds=60, max_attempts=3),
)


def sent(sequence: int = 7, at: int = ACCEPTED) -> Delivery:
    return Delivery("subject", "reply", b"", {}, sequence, at)


def in_state(state: InvocationState, attempts: int = 1, sequence: int = 7) -> InvocationRecord:
    return replace(RECORD, state=state, attempts=attempts, sequence=sequence)


def right_answer(record: InvocationRecord, sequence: int, now: int) -> type[Decision]:
    """Return the decision by the specification's rules for a record of the message's own run."""
    if record.state in FINAL_STATES:
        return PublishOutcome
    if record.state is InvocationState.RUNNING and record.sequence != sequence:
        return Acknowledge
    if record.state is InvocationState.CANCELLING or now > OVERDUE + SKEW:
        return Finish
    return Finish if record.attempts >= 3 else StartAttempt


@pytest.mark.parametrize("state", InvocationState)
def test_the_decision_is_correct_for_all_states_attempts_sequences_and_times(
    state: InvocationState,
) -> None:
    times = (ACCEPTED, OVERDUE, OVERDUE + SKEW, OVERDUE + SKEW + 1)
    for attempts, sequence, now in product(range(5), (7, 8), times):
        record = in_state(state, attempts, sequence)
        decision = decide(sent(7), CALL, record, ME, now)
        assert type(decision) is right_answer(record, 7, now), (attempts, sequence, now)


@pytest.mark.parametrize(
    ("record", "now", "state"),
    [
        (in_state(InvocationState.CANCELLING), ACCEPTED, InvocationState.CANCELLED),
        (in_state(InvocationState.CANCELLING, 9), OVERDUE * 2, InvocationState.CANCELLED),
        (in_state(InvocationState.QUEUED), OVERDUE * 2, InvocationState.EXPIRED),
        (in_state(InvocationState.QUEUED, 3), ACCEPTED, InvocationState.DEAD_LETTERED),
        (in_state(InvocationState.RUNNING, 3), ACCEPTED, InvocationState.DEAD_LETTERED),
    ],
)
def test_a_record_finished_without_a_run_has_a_reason(
    record: InvocationRecord, now: int, state: InvocationState
) -> None:
    decision = decide(sent(), CALL, record, ME, now)
    assert isinstance(decision, Finish)
    assert (decision.record.state, decision.record.finished_at) == (state, now)
    assert decision.record.result is not None
    assert decision.record.result.error


def test_an_attempt_is_counted_and_signed() -> None:
    decision = decide(sent(9), CALL, in_state(InvocationState.QUEUED, 1, 0), ME, ACCEPTED + 5)
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
    older = replace(CALL, run=1)
    assert decide(sent(), older, in_state(state), ME, ACCEPTED) == Acknowledge()


@pytest.mark.parametrize(
    "record",
    [None, replace(RECORD, function_uid="another"), replace(RECORD, run=1)],
    ids=["none", "of another function", "of an older run"],
)
@pytest.mark.parametrize(
    ("age", "kind"), [(0, Postpone), (59_999, Postpone), (60_000, SendToDeadLetters)]
)
def test_a_message_without_a_record_waits_for_it_a_minute(
    record: InvocationRecord | None, age: int, kind: type[Decision]
) -> None:
    assert isinstance(decide(sent(), CALL, record, ME, ACCEPTED + age), kind)


@pytest.mark.parametrize("record", [None, *map(in_state, InvocationState)])
def test_an_unreadable_message_is_always_dead_lettered(
    record: InvocationRecord | None,
) -> None:
    assert isinstance(decide(sent(), None, record, ME, ACCEPTED), SendToDeadLetters)


@pytest.mark.parametrize("record", [*map(in_state, InvocationState)])
def test_a_message_of_the_function_that_had_the_name_before_is_dropped(
    record: InvocationRecord,
) -> None:
    foreign = replace(CALL, function_uid="before")
    assert decide(sent(), foreign, record, ME, ACCEPTED) == Acknowledge()


@pytest.mark.parametrize("state", InvocationState)
def test_a_message_of_the_function_that_has_the_name_now_is_left_to_its_workers(
    state: InvocationState,
) -> None:
    newer = replace(CALL, function_uid="after")
    record = replace(in_state(state), function_uid="after")
    assert isinstance(decide(sent(), newer, record, ME, ACCEPTED), Postpone)


def test_a_worker_that_knows_no_uid_takes_what_its_consumer_gives() -> None:
    anybody = WorkerIdentity("fn", "fn-desk")
    assert isinstance(decide(sent(), CALL, RECORD, anybody, ACCEPTED), StartAttempt)


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
    match decide(sent(sequence), CALL, record, ME, now):
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


def test_the_deadline_is_the_timeout_or_the_end_of_its_time_to_live() -> None:
    early = replace(RECORD, started_at=ACCEPTED)
    late = replace(RECORD, started_at=OVERDUE - 1000)
    assert attempt_deadline(early) == ACCEPTED + 60_000
    assert attempt_deadline(late) == OVERDUE + SKEW
