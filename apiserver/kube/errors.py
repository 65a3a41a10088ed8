"""Errors of calls to the Kubernetes API, by what the caller can do about them."""

from typing import ClassVar


class KubeError(Exception):
    """Kubernetes did not do what was asked; the text says to an operator what to check.

    `is_uncertain`: a write may have taken effect all the same.
    """

    is_uncertain: ClassVar[bool] = False


class UnreachableError(KubeError):
    """No connection, or one that broke."""

    is_uncertain = True


class NotSentError(UnreachableError):
    """Nothing was sent, because nobody answers there; `retry_after` seconds until we ask again."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class RequestTimeoutError(KubeError):
    """A connection, but no answer in time."""

    is_uncertain = True


class ForbiddenError(KubeError):
    """The server does not know us (401) or does not let us (403)."""


class QuotaExceededError(ForbiddenError):
    """403: it would be more than the namespace may hold; `message` is what the server says."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ServerError(KubeError):
    """An answer that is neither a success nor a refusal, or that cannot be read."""

    is_uncertain = True


class UnexpectedResponseError(ServerError):
    """An answer that no API server with our kinds and namespaces would give."""


class UnsupportedVersionError(KubeError):
    """A server of a version that we do not work with."""


class ThrottledError(KubeError):
    """429, or a create that collides with others: come back, in `retry_after` seconds if given."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class NotFoundError(KubeError):
    """404: there is no such object."""


class AlreadyExistsError(KubeError):
    """409: the name is taken."""


class ConflictError(KubeError):
    """409: the object is no longer the one that was read."""


class InvalidError(KubeError):
    """422, 413 or 400: the server will never take this; `message` is what it says.

    The message can repeat what was sent, so it is for the sender and not for the log.
    """

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ExpiredError(KubeError):
    """410: the rest of a list is no longer to be had."""
