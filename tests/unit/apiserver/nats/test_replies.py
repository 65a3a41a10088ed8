"""Refusals of JetStream are told apart by what they mean for us."""

import pytest

from apiserver.nats.errors import (
    NotInQueueError,
    QueueError,
    QueueRefusedError,
    RecordStaleError,
    StreamAbsentError,
)
from apiserver.nats.replies import AlreadyStoredError, Stored, read


def refused(code: int, description: str) -> bytes:
    return b'{"error": {"code": 503, "err_code": %d, "description": "%s"}, "seq": 0}' % (
        code,
        description.encode(),
    )


@pytest.mark.parametrize(
    ("code", "description", "kind"),
    [
        (10071, "wrong last sequence: 17", RecordStaleError),
        (10077, "maximum messages per subject exceeded", AlreadyStoredError),
        (10077, "maximum messages exceeded", QueueRefusedError),
        (10077, "maximum bytes exceeded", QueueRefusedError),
        (10014, "consumer not found", NotInQueueError),
        (10037, "no message found", NotInQueueError),
        (10059, "stream not found", StreamAbsentError),
        (10023, "insufficient resources", QueueRefusedError),
    ],
)
def test_a_refusal_has_its_meaning(
    code: int, description: str, kind: type[QueueRefusedError]
) -> None:
    with pytest.raises(QueueRefusedError, match=description) as caught:
        read(refused(code, description), Stored)
    assert type(caught.value) is kind
    assert not caught.value.is_uncertain


def test_an_answer_that_cannot_be_read_proves_nothing() -> None:
    with pytest.raises(QueueError) as caught:
        read(b"<html>", Stored)
    assert caught.value.is_uncertain


def test_what_is_stored_has_its_place() -> None:
    assert read(b'{"stream": "S", "seq": 12}', Stored).seq == 12
