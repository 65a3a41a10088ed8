"""Tests of deliveries: the position of a message is parsed from its reply subject."""

import json

import pytest

from serverless.worker.delivery import nak_with_delay, parse_delivery, try_decode_call
from shared.invocation.message import CallMessage, encode_message
from shared.invocation.queue_names import QueueNames

NAMES = QueueNames()
SUBJECT = "runtime.serverless.invoke.fn.i"
CALL = CallMessage(function_uid="uid", function_name="fn", invocation_id="i", run=1)


@pytest.mark.parametrize(
    "reply",
    [
        "$JS.ACK.STREAM.fn.1.42.3.1700000000123456789.5",
        "$JS.ACK.hub.ACCOUNT.STREAM.fn.1.42.3.1700000000123456789.5.token",
        "$JS.ACK._.ACCOUNT.STREAM.fn.1.42.3.1700000000123456789.5",
    ],
)
def test_both_forms_of_reply_subjects_contain_the_sequence(reply: str) -> None:
    delivery = parse_delivery(SUBJECT, reply, b"", {})
    assert (delivery.sequence, delivery.sent_at) == (42, 1_700_000_000_123)


@pytest.mark.parametrize("reply", ["", "_INBOX.x", "$JS.ACK.STREAM.fn"])
def test_a_reply_subject_without_a_stream_is_refused(reply: str) -> None:
    with pytest.raises(ValueError, match="not a reply subject"):
        parse_delivery(SUBJECT, reply, b"", {})


@pytest.mark.parametrize(
    ("subject", "data", "call"),
    [
        (SUBJECT, encode_message(CALL), CALL),
        (SUBJECT, b"", None),
        (SUBJECT, b"\xff", None),
        (SUBJECT, b'{"run": 1}', None),
        ("runtime.serverless.invoke.fn.other", encode_message(CALL), None),
    ],
)
def test_a_call_is_read_only_from_its_own_subject(
    subject: str, data: bytes, call: CallMessage | None
) -> None:
    delivery = parse_delivery(subject, "$JS.ACK.S.fn.1.42.3.1700000000123456789.5", data, {})
    assert try_decode_call(delivery, NAMES) == call


def test_a_negative_acknowledgement_has_its_delay_in_nanoseconds() -> None:
    command, _, options = nak_with_delay(1.5).partition(b" ")
    assert (command, json.loads(options)) == (b"-NAK", {"delay": 1_500_000_000})
