"""Replies of JetStream: the fields, error codes and headers that we read."""

from typing import Final, TypeVar

import msgspec

from apiserver.nats.errors import (
    QueueError,
    QueueItemNotFoundError,
    QueueRejectedError,
    RecordConflictError,
    StreamNotFoundError,
)
from shared.invocation.jetstream import (
    ITEM_NOT_FOUND_CODES,
    REVISION_CONFLICT_CODES,
    STORE_FAILED,
    STREAM_NOT_FOUND,
)

# Headers of stored messages and of replies.
KV_OPERATION_HEADER: Final = "KV-Operation"
PENDING_HEADER: Final = "Nats-Num-Pending"
SEQUENCE_HEADER: Final = "Nats-Sequence"
SUBJECT_HEADER: Final = "Nats-Subject"
STATUS_HEADER: Final = "Status"
END_OF_BATCH_STATUS: Final = "204"
NOT_FOUND_STATUS: Final = "404"
NO_RESPONDERS_STATUS: Final = "503"

_PER_SUBJECT_MARKER: Final = "per subject"


class ReplyErrorInfo(msgspec.Struct, frozen=True):
    """The error of a reply."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class JetStreamReply(msgspec.Struct, frozen=True):
    """The part that all replies share."""

    error: ReplyErrorInfo | None = None


class PublishAck(JetStreamReply, frozen=True):
    """The reply to a published message."""

    seq: int = 0


class StreamCreateReply(JetStreamReply, frozen=True):
    """The reply to the creation of a stream."""

    did_create: bool = False


class StreamState(msgspec.Struct, frozen=True):
    """The sequences and the size of a stream."""

    first_seq: int = 0
    last_seq: int = 0
    messages: int = 0
    bytes: int = 0


class StreamConfig(msgspec.Struct, frozen=True):
    """The limits of a stream; -1 is no limit."""

    max_bytes: int = -1


class StreamInfo(JetStreamReply, frozen=True):
    """The reply that describes a stream; `total` counts the requested subjects."""

    total: int = 0
    state: StreamState = StreamState()
    config: StreamConfig = StreamConfig()


class ConsumerInfo(JetStreamReply, frozen=True):
    """The reply that describes a consumer; `num_pending` counts undelivered messages."""

    num_pending: int = 0


class StoredMessage(msgspec.Struct, frozen=True):
    """A message in the reply of a stream's MSG.GET."""

    seq: int
    data: bytes = b""
    hdrs: bytes = b""


class MessageGetReply(JetStreamReply, frozen=True):
    """The reply to MSG.GET."""

    message: StoredMessage | None = None


class AlreadyStoredError(QueueRejectedError):
    """The subject holds a message already and may hold only one."""


A = TypeVar("A", bound=JetStreamReply)


def decode_reply(data: bytes, reply_type: type[A]) -> A:
    """Decode a reply; raises the error that it carries, or QueueError if it is unreadable."""
    try:
        reply = msgspec.json.decode(data, type=reply_type)
    except msgspec.DecodeError as error:
        raise QueueError(f"the reply of the queue cannot be decoded: {error}") from None
    if reply.error is not None:
        raise rejection_error(reply.error)
    return reply


def rejection_error(error_info: ReplyErrorInfo) -> QueueRejectedError:
    """Return the error for an error reply, by its code."""
    text = f"{error_info.description} ({error_info.err_code})"
    if error_info.err_code in REVISION_CONFLICT_CODES:
        return RecordConflictError(text)
    if error_info.err_code == STREAM_NOT_FOUND:
        return StreamNotFoundError(text)
    if error_info.err_code in ITEM_NOT_FOUND_CODES:
        return QueueItemNotFoundError(text)
    if error_info.err_code == STORE_FAILED and _PER_SUBJECT_MARKER in error_info.description:
        return AlreadyStoredError(text)
    return QueueRejectedError(text)
