"""An outcome counts only where its own function may tell it."""

import pytest

from serverless.resultstore.consumer import outcome_on
from shared.invocation.message import Outcome, encode
from shared.invocation.queue_names import QueueNames
from shared.invocation.record import Result
from shared.invocation.state import State

NAMES = QueueNames()
OUTCOME = Outcome(
    function_uid="uid",
    request_id="fn",
    invocation_id="i",
    run=1,
    state=State.SUCCEEDED,
    attempts=1,
    worker="fn-1",
    accepted_at=1,
    started_at=2,
    finished_at=3,
    result=Result(),
)


def test_an_outcome_is_read_from_the_subject_of_its_function() -> None:
    assert outcome_on(NAMES.result_subject("fn"), encode(OUTCOME), NAMES) == OUTCOME


def test_an_outcome_on_the_subject_of_another_function_is_refused() -> None:
    with pytest.raises(ValueError, match="'fn' was told on"):
        outcome_on(NAMES.result_subject("evil"), encode(OUTCOME), NAMES)
