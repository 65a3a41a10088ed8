"""Tests of the error for each JetStream error reply."""

import pytest

from apiserver.nats.errors import (
    QueueError,
    QueueItemNotFoundError,
    QueueRejectedError,
    RecordConflictError,
    StreamNotFoundError,
)
from apiserver.nats.replies import AlreadyStoredError, PublishAck, decode_reply


def error_reply(code: int, description: str) -> bytes:
    return b'{"error": {"code": 503, "err_code": %d, "description": "%s"}, "seq": 0}' % (
        code,
        description.encode(),
    )


@pytest.mark.parametrize(
    ("code", "description", "kind"),
    [
        (10071, "wrong last sequence: 17", RecordConflictError),
        (10077, "maximum messages per subject exceeded", AlreadyStoredError),
        (10077, "maximum messages exceeded", QueueRejectedError),
        (10077, "maximum bytes exceeded", QueueRejectedError),
        (10014, "consumer not found", QueueItemNotFoundError),
        (10037, "no message found", QueueItemNotFoundError),
        (10059, "stream not found", StreamNotFoundError),
        (10023, "insufficient resources", QueueRejectedError),
    ],
)
def test_a_jetstream_error_is_mapped_to_its_exception(
    code: int, description: str, kind: type[QueueRejectedError]
) -> None:
    with pytest.raises(QueueRejectedError, match=description) as caught:
        decode_reply(error_reply(code, description), PublishAck)
    assert type(caught.value) is kind
    assert not caught.value.is_uncertain


def test_an_unreadable_reply_is_an_uncertain_error() -> None:
    with pytest.raises(QueueError) as caught:
        decode_reply(b"<html>", PublishAck)
    assert caught.value.is_uncertain


def test_the_ack_of_a_stored_message_has_its_sequence() -> None:
    assert decode_reply(b'{"stream": "S", "seq": 12}', PublishAck).seq == 12
