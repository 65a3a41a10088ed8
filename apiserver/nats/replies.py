"""What JetStream answers, as far as we read it."""

from typing import Final, TypeVar

import msgspec

from apiserver.nats.errors import (
    NotInQueueError,
    QueueError,
    QueueRefusedError,
    RecordStaleError,
    StreamAbsentError,
)

STORE_FAILED: Final = 10077
WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})
NAME_IN_USE: Final = 10058
STREAM_ABSENT: Final = 10059
ABSENT: Final = frozenset({10014, 10037, 10043})  # consumer, message, sequence

_PER_SUBJECT: Final = "per subject"


class Trouble(msgspec.Struct, frozen=True):
    """Why JetStream has refused something."""

    code: int = 0
    err_code: int = 0
    description: str = ""


class Answer(msgspec.Struct, frozen=True):
    """What every answer has."""

    error: Trouble | None = None


class Stored(Answer, frozen=True):
    """What became of a published message."""

    seq: int = 0


class Made(Answer, frozen=True):
    """What became of the wish for a stream."""

    did_create: bool = False


class State(msgspec.Struct, frozen=True):
    """The span of a stream, and how large it is."""

    first_seq: int = 0
    last_seq: int = 0
    messages: int = 0
    bytes: int = 0


class Settings(msgspec.Struct, frozen=True):
    """What a stream may be; -1 is no limit."""

    max_bytes: int = -1


class StreamInfo(Answer, frozen=True):
    """A stream; `total` counts the subjects that were asked about."""

    total: int = 0
    state: State = State()
    config: Settings = Settings()


class ConsumerInfo(Answer, frozen=True):
    """How much of a consumer's work nobody has taken."""

    num_pending: int = 0


class Message(msgspec.Struct, frozen=True):
    """A message as the stream's own API gives it."""

    seq: int
    data: bytes = b""
    hdrs: bytes = b""


class Found(Answer, frozen=True):
    """One message that was asked for."""

    message: Message | None = None


class AlreadyStoredError(QueueRefusedError):
    """There is a message on this subject, and there is room for one."""


A = TypeVar("A", bound=Answer)


def read(data: bytes, kind: type[A]) -> A:
    """The answer; a refusal is raised by its meaning."""
    try:
        answer = msgspec.json.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise QueueError(f"the queue's answer cannot be read: {error}") from None
    if answer.error is not None:
        raise refusal(answer.error)
    return answer


def refusal(trouble: Trouble) -> QueueRefusedError:
    """What a refusal means."""
    text = f"{trouble.description} ({trouble.err_code})"
    if trouble.err_code in WRONG_LAST_SEQUENCE:
        return RecordStaleError(text)
    if trouble.err_code == STREAM_ABSENT:
        return StreamAbsentError(text)
    if trouble.err_code in ABSENT:
        return NotInQueueError(text)
    if trouble.err_code == STORE_FAILED and _PER_SUBJECT in trouble.description:
        return AlreadyStoredError(text)
    return QueueRefusedError(text)
