"""Errors of calls to the Kubernetes API, by what the caller can do about them."""

from typing import ClassVar


class ClusterError(Exception):
    """Kubernetes did not do what was asked; the text says to an operator what to check.

    `is_uncertain`: a write may have taken effect all the same.
    """

    is_uncertain: ClassVar[bool] = False


class ClusterUnreachableError(ClusterError):
    """No connection, or one that broke."""

    is_uncertain = True


class ClusterNotAskedError(ClusterUnreachableError):
    """Nothing was sent, because nobody answers there; `retry_after` seconds until we ask again."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class ClusterTimeoutError(ClusterError):
    """A connection, but no answer in time."""

    is_uncertain = True


class ClusterRefusedError(ClusterError):
    """The server does not know us (401) or does not let us (403)."""


class QuotaExceededError(ClusterRefusedError):
    """403: it would be more than the namespace may hold; `message` is what the server says."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ClusterAnswerError(ClusterError):
    """An answer that is neither a success nor a refusal, or that cannot be read."""

    is_uncertain = True


class ClusterUnfitError(ClusterAnswerError):
    """An answer that no API server with our kinds and namespaces would give."""


class ClusterTooOldError(ClusterError):
    """A server of a version that we do not work with."""


class ClusterBusyError(ClusterError):
    """429, or a create that collides with others: come back, in `retry_after` seconds if given."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class AbsentError(ClusterError):
    """404: there is no such object."""


class TakenError(ClusterError):
    """409: the name is taken."""


class StaleError(ClusterError):
    """409: the object is no longer the one that was read."""


class RejectedError(ClusterError):
    """422, 413 or 400: the server will never take this; `message` is what it says.

    The message can repeat what was sent, so it is for the sender and not for the log.
    """

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ContinueExpiredError(ClusterError):
    """410: the rest of a list is no longer to be had."""
