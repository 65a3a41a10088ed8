"""What can go wrong between us and an API server, by what the caller can do about it."""

from typing import Final

import msgspec

MAX_MESSAGE_LENGTH: Final = 1024
# What msgspec raises on bytes that are not JSON, not of the type, not UTF-8, or nested too deep.
DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class KubeconfigError(Exception):
    """The kubeconfig or service account cannot be used; a person must mend it."""


class CannotListenError(Exception):
    """An address to serve on is taken or not ours."""


class KubeError(Exception):
    """A call to the API server failed; the text says which server and what happened."""


class UnreachableError(KubeError):
    """No connection, a broken one, or no answer in time: a write may have taken effect."""


class ConnectRefusedError(UnreachableError):
    """Nobody listens at the server's address: nothing was sent."""


class UndecodableError(KubeError):
    """The server's answer is not what was asked for."""


class StatusError(KubeError):
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


class ResourceVersionTooLargeError(StatusError):
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


ERRORS_BY_CODE: Final[dict[int, type[StatusError]]] = {
    400: InvalidError,
    401: ForbiddenError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: ExpiredError,
    422: InvalidError,
    429: ThrottledError,
}


def error_from_response(request_text: str, code: int, body: bytes) -> StatusError:
    """The typed error of an answer; proxies and unknown groups answer in plain text."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except DECODE_ERRORS:
        status = Status(message=" ".join(body.decode(errors="replace").split()))
    return error_from_status(request_text, code, status)


def error_from_status(request_text: str, code: int, status: Status) -> StatusError:
    """The typed error of a Status; `said` begins the message with what was asked."""
    causes = ",".join(cause.reason for cause in status.details.causes) if status.details else ""
    message = status.message[:MAX_MESSAGE_LENGTH] or "no message"
    return error_class(code, status, causes)(
        f"{request_text}: {code} {message}",
        status=code,
        reason=status.reason,
        causes=causes,
        message=message,
    )


def error_class(code: int, status: Status, causes: str) -> type[StatusError]:
    if "ResourceVersionTooLarge" in causes or "Too large resource version" in status.message:
        return ResourceVersionTooLargeError
    if status.reason == "AlreadyExists":
        return AlreadyExistsError
    if status.reason in ("Expired", "Gone"):
        return ExpiredError
    return ERRORS_BY_CODE.get(code, ServerError if code >= 500 else StatusError)
