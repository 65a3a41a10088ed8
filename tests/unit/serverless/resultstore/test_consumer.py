"""Tests of the outcome consumer: an outcome counts only on the subject of its own function."""

import pytest

from serverless.resultstore.consumer import decode_outcome_on
from shared.invocation.message import OutcomeMessage, encode_message
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import InvocationResult
from shared.invocation.state import InvocationState

NAMES = QueueNames()
OUTCOME = OutcomeMessage(
    function_uid="uid",
    function_name="fn",
    invocation_id="i",
    run=1,
    state=InvocationState.SUCCEEDED,
    attempts=1,
    worker="fn-1",
    accepted_at=1,
    started_at=2,
    finished_at=3,
    result=InvocationResult(),
)


def test_an_outcome_is_read_from_the_subject_of_its_function() -> None:
    assert decode_outcome_on(NAMES.result_subject("fn"), encode_message(OUTCOME), NAMES) == OUTCOME


def test_an_outcome_on_the_subject_of_another_function_is_refused() -> None:
    with pytest.raises(ValueError, match="'fn' was published on"):
        decode_outcome_on(NAMES.result_subject("evil"), encode_message(OUTCOME), NAMES)
