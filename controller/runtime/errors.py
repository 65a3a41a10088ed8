"""What can go wrong between us and an API server, by what the caller can do about it."""

from typing import Final

import msgspec

LONGEST_MESSAGE: Final = 1024
# What msgspec raises on bytes that are not JSON, not of the type, not UTF-8, or nested too deep.
UNDECODABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class AccessError(Exception):
    """The kubeconfig or service account cannot be used; a person must mend it."""


class CannotListenError(Exception):
    """An address to serve on is taken or not ours."""


class ApiError(Exception):
    """A call to the API server failed; the text says which server and what happened."""


class UnreachableError(ApiError):
    """No connection, a broken one, or no answer in time: a write may have taken effect."""


class ConnectRefusedError(UnreachableError):
    """Nobody listens at the server's address: nothing was sent."""


class UnreadableError(ApiError):
    """The server's answer is not what was asked for."""


class StatusError(ApiError):
    """The server answered with an error; `status` is its HTTP code, `reason` Kubernetes' word.

    `message` is what the server said, without whom we asked for what.
    """

    def __init__(
        self, text: str, *, status: int, reason: str = "", causes: str = "", message: str = ""
    ) -> None:
        super().__init__(text)
        self.status = status
        self.reason = reason
        self.causes = causes
        self.message = message or text


class NotFoundError(StatusError):
    """404: there is no such object, or no such kind (yet)."""


class AlreadyExistsError(StatusError):
    """409 AlreadyExists: the name is taken."""


class ConflictError(StatusError):
    """409: the object has changed since it was read, or a precondition does not hold."""


class ExpiredError(StatusError):
    """410: the resourceVersion or continue token is too old."""


class VersionTooLargeError(StatusError):
    """The server has not yet seen the resourceVersion that was asked for."""


class InvalidError(StatusError):
    """400 or 422: the request will never be accepted as it is."""


class ForbiddenError(StatusError):
    """401 or 403: we are not known or not allowed."""


class ThrottledError(StatusError):
    """429: the server asks us to come back later."""


class ServerError(StatusError):
    """5xx: the server failed."""


class StatusCause(msgspec.Struct):
    """One cause of a Status."""

    reason: str = ""
    message: str = ""


class StatusDetails(msgspec.Struct):
    """The details of a Status."""

    causes: tuple[StatusCause, ...] = ()


class Status(msgspec.Struct):
    """What the API server says about an error."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None


BY_STATUS: Final[dict[int, type[StatusError]]] = {
    400: InvalidError,
    401: ForbiddenError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    422: InvalidError,
    429: ThrottledError,
}


def status_error(said: str, code: int, body: bytes) -> StatusError:
    """The typed error of an answer; proxies and unknown groups answer in plain text."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except UNDECODABLE:
        status = Status(message=" ".join(body.decode(errors="replace").split()))
    return error_of(said, code, status)


def error_of(said: str, code: int, status: Status) -> StatusError:
    """The typed error of a Status; `said` begins the message with what was asked."""
    causes = ",".join(cause.reason for cause in status.details.causes) if status.details else ""
    message = status.message[:LONGEST_MESSAGE] or "no message"
    return error_type(code, status, causes)(
        f"{said}: {code} {message}",
        status=code,
        reason=status.reason,
        causes=causes,
        message=message,
    )


def error_type(code: int, status: Status, causes: str) -> type[StatusError]:
    if "ResourceVersionTooLarge" in causes or "Too large resource version" in status.message:
        return VersionTooLargeError
    if status.reason == "AlreadyExists":
        return AlreadyExistsError
    if status.reason in ("Expired", "Gone"):
        return ExpiredError
    return BY_STATUS.get(code, ServerError if code >= 500 else StatusError)
