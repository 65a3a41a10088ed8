"""What can go wrong between us and the queue, by what the caller can do about it."""

from typing import Final

import nats.errors

STREAM_LIMIT_CODE: Final = 10077
REVISION_CONFLICT_CODES: Final = frozenset({10071, 10164})
NOT_FOUND_CODES: Final = frozenset({10014, 10037, 10043, 10059})


class QueueError(Exception):
    """A call to the queue failed; the text says what happened."""


class UnavailableError(QueueError):
    """No connection or no answer in time: a write may have taken effect."""


class NoResponderError(QueueError):
    """Nobody takes what is sent there; elsewhere all may be well."""


class JetStreamApiError(QueueError):
    """The queue has answered that it will not."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class JetStreamNotFoundError(JetStreamApiError):
    """There is no such stream, consumer or message."""


class RevisionConflictError(JetStreamApiError):
    """Somebody else has written since: a compare-and-set has lost."""


class StreamLimitError(JetStreamApiError):
    """The subject, or the whole stream, holds as much as it may."""


def api_error_of(code: int, text: str) -> JetStreamApiError:
    """The error of a code of JetStream's."""
    if code in REVISION_CONFLICT_CODES:
        return RevisionConflictError(code, text)
    if code in NOT_FOUND_CODES:
        return JetStreamNotFoundError(code, text)
    return (
        StreamLimitError(code, text) if code == STREAM_LIMIT_CODE else JetStreamApiError(code, text)
    )


def request_error_of(error: Exception, subject: str) -> QueueError:
    """The error of a request that was not answered."""
    if isinstance(error, nats.errors.NoRespondersError):
        return NoResponderError(f"{subject}: nobody takes it")
    why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
    return UnavailableError(f"{subject}: {why or type(error).__name__}")
