"""Errors of requests to the queue, by what the caller can do about them."""

from typing import ClassVar


class QueueError(Exception):
    """A failed request; its text tells an operator what to check.

    `is_uncertain`: a write may have taken effect although it failed, or may do so later.
    """

    is_uncertain: ClassVar[bool] = True


class QueueNotSentError(QueueError):
    """Nothing was sent, as the queue does not respond; retry after `retry_after` seconds."""

    is_uncertain = False

    def __init__(self, text: str, retry_after: int = 1) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class QueueTimeoutError(QueueError):
    """The request was sent, and no reply arrived in time."""


class QueueRejectedError(QueueError):
    """The queue rejected the request and wrote nothing; the text is its reason."""

    is_uncertain = False


class QueueItemNotFoundError(QueueRejectedError):
    """The message or consumer does not exist."""


class StreamNotFoundError(QueueItemNotFoundError):
    """No stream has this name or subject."""


class RecordConflictError(QueueRejectedError):
    """The record was changed since it was read, or exists already."""


class BodyUnavailableError(QueueRejectedError):
    """The stored body is missing or incomplete."""
