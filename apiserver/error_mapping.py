"""What a caller is told when Kubernetes did not do its part: retry, fix the request, or call."""

from typing import Final

from apiserver.errors import (
    AlreadyExistsError,
    ConflictError,
    DeadlineError,
    InvalidRequestError,
    NotFoundError,
    OperatorNeededError,
    ServiceError,
    ServiceUnavailableError,
)
from apiserver.errors import ContinueExpiredError as ListExpiredError
from apiserver.kube import errors as kube_errors
from apiserver.nats.errors import QueueError, QueueNotAskedError

LONGEST_PAUSE: Final = 5


def queue_failure(error: QueueError) -> ServiceError:
    """The failure of the queue for somebody who only wants to know when to come back."""
    asked = error.retry_after if isinstance(error, QueueNotAskedError) else 1
    pause = min(asked, LONGEST_PAUSE)
    return ServiceUnavailableError("the queue cannot do this now; try again", retry_after=pause)


def service_error(error: kube_errors.ClusterError) -> ServiceError:
    """The same failure for somebody who knows nothing of our Kubernetes."""
    match error:
        case kube_errors.ClusterTimeoutError():
            return DeadlineError("Kubernetes did not answer in time; ask again")
        case kube_errors.ClusterUnfitError():
            return _operator("Kubernetes is not set up for the runtime API")
        case (
            kube_errors.ClusterUnreachableError()
            | kube_errors.ClusterBusyError()
            | kube_errors.ClusterAnswerError()
        ):
            return _unavailable(error)
        case _:
            return _refusal(error)


def _unavailable(error: kube_errors.ClusterError) -> ServiceError:
    asked = (
        error.retry_after
        if isinstance(error, kube_errors.ClusterBusyError | kube_errors.ClusterNotAskedError)
        else 1
    )
    pause = min(max(asked or 1, 1), LONGEST_PAUSE)
    return ServiceUnavailableError("Kubernetes cannot do this now; try again", retry_after=pause)


def _refusal(error: kube_errors.ClusterError) -> ServiceError:
    match error:
        case kube_errors.RejectedError():
            return InvalidRequestError(error.message)
        case kube_errors.QuotaExceededError():
            return ConflictError(error.message)
        case kube_errors.AbsentError() | kube_errors.ContinueExpiredError():
            return _gone(error)
        case kube_errors.TakenError():
            return AlreadyExistsError("the name is taken")
        case kube_errors.StaleError():
            return ConflictError("the object has changed meanwhile; read it and try again")
        case _:
            return _operator("the runtime API is not allowed to do this in Kubernetes")


def _gone(error: kube_errors.AbsentError | kube_errors.ContinueExpiredError) -> ServiceError:
    if isinstance(error, kube_errors.AbsentError):
        return NotFoundError("there is no such object")
    return ListExpiredError("the rest of this list is no longer to be had; read it from its start")


def _operator(what: str) -> ServiceError:
    return OperatorNeededError(f"{what}; an operator must look at this")
