"""What JetStream answers, as far as we read it."""

from typing import Final, TypeVar

import msgspec

from apiserver.nats.errors import (
    QueueError,
    QueueItemNotFoundError,
    QueueRejectedError,
    RecordConflictError,
    StreamNotFoundError,
)

STORE_FAILED_CODE: Final = 10077
WRONG_LAST_SEQUENCE_CODES: Final = frozenset({10071, 10164})
STREAM_NAME_IN_USE_CODE: Final = 10058
STREAM_NOT_FOUND_CODE: Final = 10059
NOT_FOUND_CODES: Final = frozenset({10014, 10037, 10043})  # consumer, message, sequence

_PER_SUBJECT_MARKER: Final = "per subject"


class ReplyErrorInfo(msgspec.Struct, frozen=True):
    """Why JetStream has refused something."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class JetStreamReply(msgspec.Struct, frozen=True):
    """What every answer has."""

    error: ReplyErrorInfo | None = None


class PublishAck(JetStreamReply, frozen=True):
    """What became of a published message."""

    seq: int = 0


class StreamCreateReply(JetStreamReply, frozen=True):
    """What became of the wish for a stream."""

    did_create: bool = False


class StreamState(msgspec.Struct, frozen=True):
    """The span of a stream, and how large it is."""

    first_seq: int = 0
    last_seq: int = 0
    messages: int = 0
    bytes: int = 0


class StreamConfig(msgspec.Struct, frozen=True):
    """What a stream may be; -1 is no limit."""

    max_bytes: int = -1


class StreamInfo(JetStreamReply, frozen=True):
    """A stream; `total` counts the subjects that were asked about."""

    total: int = 0
    state: StreamState = StreamState()
    config: StreamConfig = StreamConfig()


class ConsumerInfo(JetStreamReply, frozen=True):
    """How much of a consumer's work nobody has taken."""

    num_pending: int = 0


class StoredMessage(msgspec.Struct, frozen=True):
    """A message as the stream's own API gives it."""

    seq: int
    data: bytes = b""
    hdrs: bytes = b""


class MessageGetReply(JetStreamReply, frozen=True):
    """One message that was asked for."""

    message: StoredMessage | None = None


class AlreadyStoredError(QueueRejectedError):
    """There is a message on this subject, and there is room for one."""


A = TypeVar("A", bound=JetStreamReply)


def decode_reply(data: bytes, reply_type: type[A]) -> A:
    """The answer; a refusal is raised by its meaning."""
    try:
        answer = msgspec.json.decode(data, type=reply_type)
    except msgspec.DecodeError as error:
        raise QueueError(f"the queue's answer cannot be read: {error}") from None
    if answer.error is not None:
        raise rejection_error(answer.error)
    return answer


def rejection_error(error_info: ReplyErrorInfo) -> QueueRejectedError:
    """What a refusal means."""
    text = f"{error_info.description} ({error_info.err_code})"
    if error_info.err_code in WRONG_LAST_SEQUENCE_CODES:
        return RecordConflictError(text)
    if error_info.err_code == STREAM_NOT_FOUND_CODE:
        return StreamNotFoundError(text)
    if error_info.err_code in NOT_FOUND_CODES:
        return QueueItemNotFoundError(text)
    if error_info.err_code == STORE_FAILED_CODE and _PER_SUBJECT_MARKER in error_info.description:
        return AlreadyStoredError(text)
    return QueueRejectedError(text)
