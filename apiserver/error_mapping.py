"""The mapping of Kubernetes and queue errors to errors for callers.

Each error says whether to retry, to fix the request or to call an operator.
"""

from typing import Final

from apiserver.errors import (
    AlreadyExistsError,
    ConflictError,
    DeadlineExceededError,
    InvalidRequestError,
    NotFoundError,
    OperatorActionRequiredError,
    ServiceError,
    ServiceUnavailableError,
)
from apiserver.errors import ContinueTokenExpiredError as ListExpiredError
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError, QueueNotSentError

MAX_RETRY_AFTER_SECONDS: Final = 5


def service_error_from_queue(error: QueueError) -> ServiceError:
    """Return the error of the queue for a caller, who needs only the time of the next retry."""
    delay = error.retry_after if isinstance(error, QueueNotSentError) else 1
    return ServiceUnavailableError(
        "the queue cannot process this request now; retry",
        retry_after=min(delay, MAX_RETRY_AFTER_SECONDS),
    )


def service_error_from_kube(error: kube_errors.KubeError) -> ServiceError:
    """Return the error of Kubernetes for a caller, without details of our cluster."""
    match error:
        case kube_errors.RequestTimeoutError():
            return DeadlineExceededError("Kubernetes did not respond in time; retry")
        case kube_errors.UnexpectedResponseError():
            return _operator_action_error("Kubernetes is not configured for the runtime API")
        case (
            kube_errors.UnreachableError()
            | kube_errors.ThrottledError()
            | kube_errors.ServerError()
        ):
            return _unavailable_error(error)
        case _:
            return _rejection_error(error)


def _unavailable_error(error: kube_errors.KubeError) -> ServiceError:
    delay = (
        error.retry_after
        if isinstance(error, kube_errors.ThrottledError | kube_errors.NotSentError)
        else 1
    )
    return ServiceUnavailableError(
        "Kubernetes cannot process this request now; retry",
        retry_after=min(max(delay or 1, 1), MAX_RETRY_AFTER_SECONDS),
    )


def _rejection_error(error: kube_errors.KubeError) -> ServiceError:
    match error:
        case kube_errors.InvalidError():
            return InvalidRequestError(error.message)
        case kube_errors.QuotaExceededError():
            return ConflictError(error.message)
        case kube_errors.NotFoundError() | kube_errors.ExpiredError():
            return _gone_error(error)
        case kube_errors.AlreadyExistsError():
            return AlreadyExistsError("an object of this name already exists")
        case kube_errors.ConflictError():
            return ConflictError("another request changed the object; read it and retry")
        case _:
            return _operator_action_error(
                "the runtime API has no permission for this in Kubernetes"
            )


def _gone_error(error: kube_errors.NotFoundError | kube_errors.ExpiredError) -> ServiceError:
    if isinstance(error, kube_errors.NotFoundError):
        return NotFoundError("no such object")
    return ListExpiredError("the continue token has expired; start the list again without continue")


def _operator_action_error(problem: str) -> ServiceError:
    return OperatorActionRequiredError(f"{problem}; an operator must fix this")
