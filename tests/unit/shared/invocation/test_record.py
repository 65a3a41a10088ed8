"""Tests of the record: its encoding is lossless, and its transitions keep the required fields."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.invocation import message, transition
from shared.invocation.queue_names import QueueNames, parse_record_key, record_key
from shared.invocation.record import (
    InvocationBody,
    InvocationRecord,
    InvocationRequest,
    InvocationResult,
    decode_record,
    encode_record,
)
from shared.invocation.state import FINAL_STATES, FailureClass, InvocationState
from shared.time import MAX_MILLISECONDS

bodies = st.builds(InvocationBody, inline=st.binary(max_size=40), object_name=st.text(max_size=5))
texts = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2)
requests = st.builds(
    InvocationRequest,
    headers=texts,
    attributes=st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.text()),
    body=bodies,
    ttl_seconds=st.integers(1, 10**6),
)
results = st.builds(InvocationResult, status_code=st.integers(0, 599), headers=texts, body=bodies)
records = st.builds(
    InvocationRecord,
    function_uid=st.text(min_size=1),
    run=st.integers(1, 9),
    hash=st.text(),
    accepted_at=st.integers(0, MAX_MILLISECONDS),
    request=requests,
    state=st.sampled_from(InvocationState),
    attempts=st.integers(0, 9),
    worker=st.text(max_size=5),
    sequence=st.integers(0, 2**50),
    result=st.none() | results,
    published=st.booleans(),
)


@given(records)
def test_an_encoded_record_decodes_to_the_same_record(record: InvocationRecord) -> None:
    assert decode_record(encode_record(record)) == record


@pytest.mark.parametrize("milliseconds", [-1, MAX_MILLISECONDS + 1])
@pytest.mark.parametrize("field", ["accepted_at", "started_at", "finished_at"])
def test_an_invalid_timestamp_is_a_decode_error(field: str, milliseconds: int) -> None:
    valid = InvocationRecord(function_uid="u", hash="h", accepted_at=1, request=InvocationRequest())
    assert decode_record(encode_record(valid)) == valid
    with pytest.raises(msgspec.DecodeError):
        decode_record(encode_record(replace(valid, **{field: milliseconds})))


@given(records)
def test_a_started_attempt_is_counted_and_stores_its_message(record: InvocationRecord) -> None:
    started = transition.attempt_started(record, "w-1", 7, 99)

    assert (started.state, started.attempts) == (InvocationState.RUNNING, record.attempts + 1)
    assert (started.worker, started.sequence, started.started_at) == ("w-1", 7, 99)
    assert started.request == record.request


@given(records)
def test_a_requeued_attempt_still_counts(record: InvocationRecord) -> None:
    released = transition.requeued(transition.attempt_started(record, "w-1", 7, 99))

    assert (released.state, released.worker, released.sequence) == (InvocationState.QUEUED, "", 0)
    assert released.attempts == record.attempts + 1


@given(records)
def test_every_final_state_has_a_reason_and_an_unpublished_outcome(
    record: InvocationRecord,
) -> None:
    final_records = [
        transition.cancelled(record, 5),
        transition.expired(record, 5),
        transition.dead_lettered(record, "why", FailureClass.ATTEMPTS_EXHAUSTED, 5),
    ]
    for final in final_records:
        assert final.is_final
        assert final.result is not None
        assert final.result.error
        assert (final.finished_at, final.published) == (5, False)


@given(records)
def test_a_redriven_record_drops_the_outcome_and_keeps_the_request(
    record: InvocationRecord,
) -> None:
    redriven = transition.redriven(record, 77)

    assert (redriven.run, redriven.state) == (record.run + 1, InvocationState.QUEUED)
    assert (redriven.attempts, redriven.accepted_at) == (0, 77)
    assert (redriven.result, redriven.published) == (None, False)
    assert (redriven.request, redriven.hash) == (record.request, record.hash)


@given(records)
def test_marking_a_record_as_published_does_not_change_its_outcome_message(
    record: InvocationRecord,
) -> None:
    before = message.outcome_message("fn", "i", record)
    after = message.outcome_message("fn", "i", transition.published(record))

    assert message.encode_message(before) == message.encode_message(after)
    assert message.decode_outcome(message.encode_message(before)) == before


def test_queued_running_and_cancelling_are_the_only_states_that_are_not_final() -> None:
    assert set(InvocationState) - FINAL_STATES == {
        InvocationState.QUEUED,
        InvocationState.RUNNING,
        InvocationState.CANCELLING,
    }


@given(st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,46}[a-z0-9])?\Z"), st.text("aZ0_-", min_size=1))
def test_a_record_key_is_parsed_into_its_ids(request_id: str, invocation_id: str) -> None:
    assert parse_record_key(record_key(request_id, invocation_id)) == (request_id, invocation_id)


def test_the_default_subjects_are_those_of_the_contract() -> None:
    names = QueueNames()

    assert names.call_subject("fn", "i") == "runtime.serverless.invoke.fn.i"
    assert names.call_filter("fn") == "runtime.serverless.invoke.fn.*"
    assert names.result_subject("fn") == "runtime.serverless.result.fn"
    assert names.dead_letter_subject("fn") == "runtime.serverless.dlq.fn"
    assert names.record_subject("fn.i") == "$KV.runtime-invocations.fn.i"
