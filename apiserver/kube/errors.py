"""Errors of requests to the Kubernetes API, by what the caller can do about them."""

from typing import ClassVar, Final

_MAX_QUOTED_LENGTH: Final = 300


class KubeError(Exception):
    """A failed request; its text tells an operator what to check.

    `is_uncertain`: a write may have taken effect although it failed.
    """

    is_uncertain: ClassVar[bool] = False


class UnreachableError(KubeError):
    """The connection failed, or it broke."""

    is_uncertain = True


class NotSentError(UnreachableError):
    """Nothing was sent, as the server does not respond; retry after `retry_after` seconds."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class RequestTimeoutError(KubeError):
    """The server did not respond in time."""

    is_uncertain = True


class ForbiddenError(KubeError):
    """401 or 403: the server does not accept our credentials or denies us permission."""


class QuotaExceededError(ForbiddenError):
    """403: the quota of the namespace is used up; `message` is the server's."""

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ServerError(KubeError):
    """5xx, or a response that cannot be decoded."""

    is_uncertain = True


class UnexpectedResponseError(ServerError):
    """A response that an API server with our kinds and namespaces does not send."""


class UnsupportedVersionError(KubeError):
    """The server has a version that is not supported."""


class ThrottledError(KubeError):
    """429, or a create that collides with others: retry, after `retry_after` seconds if given."""

    def __init__(self, text: str, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class NotFoundError(KubeError):
    """404: the object does not exist."""


class AlreadyExistsError(KubeError):
    """409: an object of this name exists already."""


class ConflictError(KubeError):
    """409: the object was changed or replaced since it was read."""


class InvalidError(KubeError):
    """400, 413 or 422: a retry cannot succeed; `message` is the server's.

    The message can repeat the body, so it goes to the sender of the request and not to the log.
    """

    def __init__(self, text: str, message: str) -> None:
        super().__init__(text)
        self.message = message


class ExpiredError(KubeError):
    """410: the continue token or the resource version is too old."""


def shorten(text: str) -> str:
    """Return `text` without its full stop, cut to the length that fits into a message."""
    if len(text) <= _MAX_QUOTED_LENGTH:
        return text.rstrip(".")
    return text[:_MAX_QUOTED_LENGTH] + "..."
