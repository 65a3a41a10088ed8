"""The errors that callers of the API get."""

from collections.abc import Iterable
from typing import ClassVar, NamedTuple

from shared.v1alpha1.validation.problem import Problem


class ErrorDetail(NamedTuple):
    """One problem of a request, with the path of its field."""

    field: str
    message: str


class ServiceError(Exception):
    """A failed request; the message is for the caller and contains no internals."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    closes_connection: ClassVar[bool] = False

    def __init__(
        self, message: str, *, details: tuple[ErrorDetail, ...] = (), retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.retry_after = retry_after

    def as_json(self) -> dict[str, object]:
        """Return the error in the form of the response envelope."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if self.details:
            body["details"] = [detail._asdict() for detail in self.details]
        return body


class InvalidRequestError(ServiceError):
    """The request must be changed before it can succeed."""

    code = "invalid_request"
    status = 400


class UnauthorizedError(ServiceError):
    """The route requires a token, and the request has no valid one."""

    code = "unauthorized"
    status = 401

    def __init__(self, challenge: str) -> None:
        super().__init__("a valid token is required; send the header Authorization: Bearer TOKEN")
        self.challenge = challenge


class ForbiddenError(ServiceError):
    """The token is valid, but does not have the role that the route requires."""

    code = "forbidden"
    status = 403


class NotFoundError(ServiceError):
    """The object or the path does not exist."""

    code = "not_found"
    status = 404


class MethodNotAllowedError(ServiceError):
    """The path does not support the method."""

    code = "method_not_allowed"
    status = 405


class BodyTimeoutError(ServiceError):
    """The body was not received in time; the connection is closed."""

    code = "timeout"
    status = 408
    closes_connection = True


class ConflictError(ServiceError):
    """The request conflicts with the current state."""

    code = "conflict"
    status = 409


class OperationConflictError(ServiceError):
    """The operationID was already used for a different request."""

    code = "operation_conflict"
    status = 409


class AlreadyExistsError(ServiceError):
    """Another operation has created an object of this name."""

    code = "already_exists"
    status = 409


class InsufficientCapacityError(ServiceError):
    """No stock unit of the spec is ready and free."""

    code = "insufficient_capacity"
    status = 409


class ContinueTokenExpiredError(ServiceError):
    """The continue token has expired; start the list again without `continue`."""

    code = "continue_expired"
    status = 410


class PreconditionFailedError(ServiceError):
    """The object was changed or replaced: it has none of the ETags in If-Match."""

    code = "precondition_failed"
    status = 412


class BodyTooLargeError(ServiceError):
    """The body is larger than the route accepts."""

    code = "too_large"
    status = 413


class UriTooLongError(ServiceError):
    """The path with its query is longer than the server accepts."""

    code = "too_large"
    status = 414


class UnsupportedMediaTypeError(ServiceError):
    """The route does not accept the media type of the body."""

    code = "unsupported_media_type"
    status = 415


class QueueFullError(ServiceError):
    """The queue of the function, or the whole queue, is full; retry later."""

    code = "queue_full"
    status = 429


class HeaderTooLargeError(ServiceError):
    """A header is longer than the server accepts."""

    code = "too_large"
    status = 431


class InternalError(ServiceError):
    """An internal error; the log of the API contains it under the request's id."""

    def __init__(self) -> None:
        super().__init__("internal error; the log of the API contains it under this request id")


class OperatorActionRequiredError(ServiceError):
    """A retry does not help: an operator must fix the cause."""


class ServiceUnavailableError(ServiceError):
    """A service that the request needs is unavailable; retry later."""

    code = "service_unavailable"
    status = 503


class DeadlineExceededError(ServiceError):
    """The request, or a service that it needs, exceeded its time limit."""

    code = "timeout"
    status = 504


def problem_details(problems: Iterable[Problem]) -> tuple[ErrorDetail, ...]:
    """Return the problems of a request by field; the fields have no prefix `spec`."""
    return tuple(
        ErrorDetail(problem.path.removeprefix("spec."), describe_problem(problem))
        for problem in problems
    )


def describe_problem(problem: Problem) -> str:
    """Return the value in the request and its problem."""
    message = problem.message.replace("spec.template", "template")
    return Problem("", problem.value, message).text.removeprefix(": ")
