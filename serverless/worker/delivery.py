"""One delivery of a message of the work queue, and its acknowledgements."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from shared.invocation import message
from shared.invocation.message import CallMessage
from shared.invocation.queue_names import QueueNames

ACK: Final = b"+ACK"
IN_PROGRESS: Final = b"+WPI"
TERM: Final = b"+TERM"

_SHORT_REPLY_TOKENS: Final = 9  # tokens; a longer one has a domain and an account before the stream
_NANOSECONDS_PER_MILLISECOND: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message, its reply subject, and its sequence and time in the stream."""

    subject: str
    reply: str
    data: bytes
    headers: Mapping[str, str]
    sequence: int
    sent_at: int


def parse_delivery(subject: str, reply: str, data: bytes, headers: Mapping[str, str]) -> Delivery:
    """Parse the reply subject of a delivery; raises ValueError if it is not of a stream."""
    tokens = reply.split(".")
    if not reply.startswith("$JS.ACK.") or len(tokens) < _SHORT_REPLY_TOKENS:
        raise ValueError(f"{reply!r} is not a reply subject of a stream")
    first = 2 if len(tokens) == _SHORT_REPLY_TOKENS else 4
    sequence, nanoseconds = int(tokens[first + 3]), int(tokens[first + 5])
    return Delivery(
        subject, reply, data, dict(headers), sequence, nanoseconds // _NANOSECONDS_PER_MILLISECOND
    )


def try_decode_call(delivery: Delivery, queue_names: QueueNames) -> CallMessage | None:
    """Return the call of a delivery; None if it is invalid or of another subject."""
    try:
        call = message.decode_call(delivery.data)
    except msgspec.DecodeError:
        return None
    expected_subject = queue_names.call_subject(call.function_name, call.invocation_id)
    return call if expected_subject == delivery.subject else None


def nak_with_delay(delay_seconds: float) -> bytes:
    """Return the acknowledgement that requests redelivery after a delay."""
    return b"-NAK " + msgspec.json.encode(
        {"delay": int(delay_seconds * 1000) * _NANOSECONDS_PER_MILLISECOND}
    )
