"""Errors of NATS requests, by what the caller can do about them."""

from typing import Final

import nats.errors

from shared.invocation.jetstream import (
    ITEM_NOT_FOUND_CODES,
    REVISION_CONFLICT_CODES,
    STORE_FAILED,
    STREAM_NOT_FOUND,
)

_NOT_FOUND_CODES: Final = ITEM_NOT_FOUND_CODES | {STREAM_NOT_FOUND}


class QueueError(Exception):
    """A request to NATS failed, or its result is unknown; it may succeed later."""


class UnavailableError(QueueError):
    """There is no connection, or no reply in time: a write may have taken effect."""


class NoResponderError(QueueError):
    """There is no subscriber for this subject; other subjects may work."""


class JetStreamApiError(QueueError):
    """JetStream replied with an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class JetStreamNotFoundError(JetStreamApiError):
    """The stream, consumer or message does not exist."""


class RevisionConflictError(JetStreamApiError):
    """A compare-and-set failed: there is a newer message on the subject."""


class StreamLimitError(JetStreamApiError):
    """The subject or the stream is full; a smaller message may still fit."""


def api_error_of(code: int, text: str) -> JetStreamApiError:
    """Return the error of a JetStream error code."""
    if code in REVISION_CONFLICT_CODES:
        return RevisionConflictError(code, text)
    if code in _NOT_FOUND_CODES:
        return JetStreamNotFoundError(code, text)
    return StreamLimitError(code, text) if code == STORE_FAILED else JetStreamApiError(code, text)


def request_error_of(error: Exception, subject: str) -> QueueError:
    """Return the error of a request that got no reply."""
    if isinstance(error, nats.errors.NoRespondersError):
        return NoResponderError(f"{subject}: there is no subscriber")
    reason = "no reply in time" if isinstance(error, TimeoutError) else str(error)
    return UnavailableError(f"{subject}: {reason or type(error).__name__}")
