"""Tests of outcome rows: complete, but without characters that PostgreSQL cannot store."""

import json

from hypothesis import given
from hypothesis import strategies as st

from serverless.resultstore.row import OutcomeRow, outcome_row_of
from shared.invocation.message import OutcomeMessage
from shared.invocation.record import InvocationBody, InvocationResult
from shared.invocation.state import InvocationState

texts = st.text(max_size=20)
outcomes = st.builds(
    OutcomeMessage,
    function_uid=texts,
    function_name=texts,
    invocation_id=texts,
    run=st.integers(1, 9),
    state=st.sampled_from(InvocationState),
    attempts=st.integers(0, 9),
    worker=texts,
    accepted_at=st.integers(0, 4_000_000_000_000),
    started_at=st.integers(0, 4_000_000_000_000),
    finished_at=st.integers(0, 4_000_000_000_000),
    result=st.builds(
        InvocationResult,
        headers=st.dictionaries(texts, texts, max_size=3),
        error=texts,
        body=st.builds(InvocationBody, inline=st.binary(max_size=9)),
    ),
)


@given(outcomes)
def test_a_row_is_always_the_same_and_never_has_the_null_character(outcome: OutcomeMessage) -> None:
    row = outcome_row_of(outcome)
    assert row == outcome_row_of(outcome)
    assert "\0" not in row.worker
    assert "\\u0000" not in json.dumps(json.loads(row.result)).replace("\\\\", "")
    assert (row.started_at is None) == (outcome.started_at == 0)
    assert row.finished_at.timestamp() * 1000 - outcome.finished_at < 1


def test_the_columns_are_those_that_the_api_reads() -> None:
    assert OutcomeRow._fields == (
        "function_uid",
        "request_id",
        "invocation_id",
        "run",
        "state",
        "attempts",
        "worker",
        "accepted_at",
        "started_at",
        "finished_at",
        "result",
    )
