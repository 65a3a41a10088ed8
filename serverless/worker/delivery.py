"""One message of the work queue as it was handed to us, and what we may answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from shared.invocation import message
from shared.invocation.message import Call
from shared.invocation.queue_names import QueueNames

ACKNOWLEDGED: Final = b"+ACK"
IN_PROGRESS: Final = b"+WPI"
TERMINATED: Final = b"+TERM"

_SHORT_REPLY: Final = 9  # tokens; a longer one has a domain and an account before the stream
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message, where its acknowledgement goes, and its place in the stream."""

    subject: str
    reply: str
    data: bytes
    headers: Mapping[str, str]
    sequence: int
    sent_at: int


def delivery(subject: str, reply: str, data: bytes, headers: Mapping[str, str]) -> Delivery:
    """Read the place of a message from its reply subject; ValueError if it is of no stream."""
    tokens = reply.split(".")
    if not reply.startswith("$JS.ACK.") or len(tokens) < _SHORT_REPLY:
        raise ValueError(f"{reply!r} is no reply subject of a stream")
    first = 2 if len(tokens) == _SHORT_REPLY else 4
    sequence, nanoseconds = int(tokens[first + 3]), int(tokens[first + 5])
    return Delivery(subject, reply, data, dict(headers), sequence, nanoseconds // _MILLION)


def call_in(given: Delivery, names: QueueNames) -> Call | None:
    """The call that a message holds; none if it cannot be read or is on another's subject."""
    try:
        call = message.decode_call(given.data)
    except msgspec.DecodeError:
        return None
    own = names.call_subject(call.request_id, call.invocation_id)
    return call if own == given.subject else None


def refused(seconds: float) -> bytes:
    """The answer that asks for the message again after some time."""
    return b"-NAK " + msgspec.json.encode({"delay": int(seconds * 1000) * _MILLION})
