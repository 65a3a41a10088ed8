"""Errors of the API server and of the connection to it, by the possible reaction."""

from typing import Final

import msgspec

MAX_MESSAGE_LENGTH: Final = 1024
# The errors of msgspec for bytes that are not JSON, not of the type, not UTF-8, or nested too deep.
DECODE_ERRORS: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class KubeconfigError(Exception):
    """The kubeconfig or service account is invalid; a person must correct it."""


class CannotListenError(Exception):
    """An address to listen on is in use or does not belong to this machine."""


class KubeError(Exception):
    """A request to the API server failed; the message names the server and the cause."""


class UnreachableError(KubeError):
    """No connection, a broken one, or no response in time: a write may have taken effect."""


class ConnectRefusedError(UnreachableError):
    """The server's address refused the connection: nothing was sent."""


class UndecodableError(KubeError):
    """The response does not have the expected format."""


class StatusError(KubeError):
    """An error response; `status` is the HTTP code, `reason` the reason of the Status.

    `message` is the message of the Status, without the request.
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
    """404: the object, or its kind, does not exist."""


class AlreadyExistsError(StatusError):
    """409 AlreadyExists: an object with this name exists."""


class ConflictError(StatusError):
    """409: the object has changed since it was read, or a precondition failed."""


class ExpiredError(StatusError):
    """410: the resourceVersion or continue token is too old."""


class ResourceVersionTooLargeError(StatusError):
    """The server has not reached the requested resourceVersion yet."""


class InvalidError(StatusError):
    """400 or 422: the request is invalid; a retry fails too."""


class ForbiddenError(StatusError):
    """401 or 403: not authenticated or not authorized."""


class ThrottledError(StatusError):
    """429: too many requests; retry later."""


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
    """The body of an error response."""

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
    """Return the typed error of a response; proxies and unknown API groups send it as text."""
    try:
        status = msgspec.json.decode(body, type=Status)
    except DECODE_ERRORS:
        status = Status(message=" ".join(body.decode(errors="replace").split()))
    return error_from_status(request_text, code, status)


def error_from_status(request_text: str, code: int, status: Status) -> StatusError:
    """Return the typed error of a Status; its message begins with `request_text`."""
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
