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
    """The API asks for a token, and the request has none that it knows."""

    code = "unauthorized"
    status = 401

    def __init__(self, challenge: str) -> None:
        super().__init__("this needs a token that the API knows; send Authorization: Bearer TOKEN")
        self.challenge = challenge


class ForbiddenError(ServiceError):
    """The token is known, but is good for other routes."""

    code = "forbidden"
    status = 403


class NotFoundError(ServiceError):
    """There is nothing at this place."""

    code = "not_found"
    status = 404


class MethodNotAllowedError(ServiceError):
    """The place is known, the method is not."""

    code = "method_not_allowed"
    status = 405


class BodyTimeoutError(ServiceError):
    """The body did not come in time; the connection is closed."""

    code = "timeout"
    status = 408
    closes_connection = True


class ConflictError(ServiceError):
    """The request does not fit what is there."""

    code = "conflict"
    status = 409


class OperationConflictError(ServiceError):
    """The operationID was used before, with another request."""

    code = "operation_conflict"
    status = 409


class AlreadyExistsError(ServiceError):
    """Another operation has taken the name."""

    code = "already_exists"
    status = 409


class InsufficientCapacityError(ServiceError):
    """There is no ready stock of that spec."""

    code = "insufficient_capacity"
    status = 409


class ContinueTokenExpiredError(ServiceError):
    """The rest of the list is no longer to be had; begin again without `continue`."""

    code = "continue_expired"
    status = 410


class PreconditionFailedError(ServiceError):
    """The object is no longer the one that If-Match names."""

    code = "precondition_failed"
    status = 412


class BodyTooLargeError(ServiceError):
    """The body is larger than the route takes."""

    code = "too_large"
    status = 413


class UriTooLongError(ServiceError):
    """The path with its query is longer than the server reads."""

    code = "too_large"
    status = 414


class UnsupportedMediaTypeError(ServiceError):
    """The body is not of a type that the route reads."""

    code = "unsupported_media_type"
    status = 415


class QueueFullError(ServiceError):
    """The function, or the whole queue, has no room for more; try again later."""

    code = "queue_full"
    status = 429


class HeaderTooLargeError(ServiceError):
    """A header is longer than the server reads."""

    code = "too_large"
    status = 431


class InternalError(ServiceError):
    """A bug of ours; the log has it under the request's id."""

    def __init__(self) -> None:
        super().__init__("an internal error happened; the log has it under this request id")


class OperatorActionRequiredError(ServiceError):
    """Neither waiting nor another request helps: an operator must mend something."""


class ServiceUnavailableError(ServiceError):
    """Something that the request needs is down; try again later."""

    code = "service_unavailable"
    status = 503


class DeadlineExceededError(ServiceError):
    """Something that the request needs did not answer in time."""

    code = "timeout"
    status = 504


def problem_details(problems: Iterable[Problem]) -> tuple[ErrorDetail, ...]:
    """Return the problems of a request by field; the fields have no prefix `spec`."""
    return tuple(
        ErrorDetail(problem.path.removeprefix("spec."), describe_problem(problem))
        for problem in problems
    )


def describe_problem(problem: Problem) -> str:
    """Return the given value and the problem with it."""
    message = problem.message.replace("spec.template", "template")
    return Problem("", problem.value, message).text.removeprefix(": ")
