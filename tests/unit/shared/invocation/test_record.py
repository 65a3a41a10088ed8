"""A record survives the bucket, and its transitions keep what they must."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.invocation import message, transition
from shared.invocation.queue_names import QueueNames, ids_of, record_key
from shared.invocation.record import Body, Record, Request, Result, decode, encode
from shared.invocation.state import FINAL, FailureClass, State
from shared.time import LATEST

bodies = st.builds(Body, inline=st.binary(max_size=40), object_name=st.text(max_size=5))
texts = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)
requests = st.builds(
    Request,
    headers=texts,
    attributes=st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.text()),
    body=bodies,
    ttl_seconds=st.integers(1, 10**6),
)
results = st.builds(Result, status_code=st.integers(0, 599), headers=texts, body=bodies)
records = st.builds(
    Record,
    function_uid=st.text(min_size=1),
    run=st.integers(1, 9),
    hash=st.text(),
    accepted_at=st.integers(0, LATEST),
    request=requests,
    state=st.sampled_from(State),
    attempts=st.integers(0, 9),
    worker=st.text(max_size=5),
    sequence=st.integers(0, 2**50),
    result=st.none() | results,
    published=st.booleans(),
)


@given(records)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert decode(encode(record)) == record


@pytest.mark.parametrize("when", [-1, LATEST + 1])
@pytest.mark.parametrize("field", ["accepted_at", "started_at", "finished_at"])
def test_what_is_no_moment_is_not_read(field: str, when: int) -> None:
    good = Record(function_uid="u", hash="h", accepted_at=1, request=Request())
    assert decode(encode(good)) == good
    with pytest.raises(msgspec.DecodeError):
        decode(encode(replace(good, **{field: when})))


@given(records)
def test_an_attempt_is_counted_and_knows_its_message(record: Record) -> None:
    begun = transition.begun(record, "w-1", 7, 99)

    assert (begun.state, begun.attempts) == (State.RUNNING, record.attempts + 1)
    assert (begun.worker, begun.sequence, begun.started_at) == ("w-1", 7, 99)
    assert begun.request == record.request


@given(records)
def test_a_released_attempt_still_counts(record: Record) -> None:
    released = transition.released(transition.begun(record, "w-1", 7, 99))

    assert (released.state, released.worker, released.sequence) == (State.QUEUED, "", 0)
    assert released.attempts == record.attempts + 1


@given(records)
def test_every_end_is_final_says_why_and_is_still_to_be_told(record: Record) -> None:
    ends = [
        transition.cancelled(record, 5),
        transition.expired(record, 5),
        transition.dead_lettered(record, "why", FailureClass.ATTEMPTS_EXHAUSTED, 5),
    ]
    for end in ends:
        assert end.is_final
        assert end.result is not None
        assert end.result.error
        assert (end.finished_at, end.published) == (5, False)


@given(records)
def test_a_new_run_forgets_the_last_ones_outcome_and_keeps_the_request(record: Record) -> None:
    again = transition.redriven(record, 77)

    assert (again.run, again.state, again.attempts) == (record.run + 1, State.QUEUED, 0)
    assert (again.result, again.published, again.accepted_at) == (None, False, 77)
    assert (again.request, again.hash) == (record.request, record.hash)


@given(records)
def test_the_mark_of_publication_does_not_change_what_is_published(record: Record) -> None:
    before = message.outcome_of("fn", "i", record)
    after = message.outcome_of("fn", "i", transition.published(record))

    assert message.encode(before) == message.encode(after)
    assert message.decode_outcome(message.encode(before)) == before


def test_only_the_five_ends_are_final() -> None:
    assert set(State) - FINAL == {State.QUEUED, State.RUNNING, State.CANCELLING}


@given(st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?\Z"), st.text("aZ0_-", min_size=1))
def test_a_key_gives_its_ids_back(request_id: str, invocation_id: str) -> None:
    assert ids_of(record_key(request_id, invocation_id)) == (request_id, invocation_id)


def test_the_names_are_those_of_the_contract() -> None:
    names = QueueNames()

    assert names.call_subject("fn", "i") == "runtime.serverless.invoke.fn.i"
    assert names.calls_of("fn") == "runtime.serverless.invoke.fn.*"
    assert names.result_subject("fn") == "runtime.serverless.result.fn"
    assert names.dead_letter_subject("fn") == "runtime.serverless.dlq.fn"
    assert names.record_subject("fn.i") == "$KV.runtime-invocations.fn.i"
