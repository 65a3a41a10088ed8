"""Failures of the queue, for those who decide what to do about them."""

from typing import ClassVar


class QueueError(Exception):
    """The queue did not do what was asked; the text says to an operator what to check.

    `is_uncertain`: a write may have taken effect all the same, or may do so later.
    """

    is_uncertain: ClassVar[bool] = True


class QueueNotSentError(QueueError):
    """Nothing was sent, because nobody answers there; `retry_after` seconds until we ask again."""

    is_uncertain = False

    def __init__(self, text: str, retry_after: int = 1) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class QueueTimeoutError(QueueError):
    """It was sent, and there was no answer in time."""


class QueueRejectedError(QueueError):
    """The queue does not take this, with its reason; nothing was written."""

    is_uncertain = False


class QueueItemNotFoundError(QueueRejectedError):
    """There is no such message or consumer."""


class StreamNotFoundError(QueueItemNotFoundError):
    """There is no stream for this."""


class RecordConflictError(QueueRejectedError):
    """The record is no longer the one that was read, or there already is one."""


class BodyUnavailableError(QueueRejectedError):
    """The object is no longer there, or not whole."""
