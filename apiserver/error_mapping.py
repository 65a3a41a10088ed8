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
from apiserver.kube.port import (
    AbsentError,
    ClusterAnswerError,
    ClusterBusyError,
    ClusterError,
    ClusterNotAskedError,
    ClusterTimeoutError,
    ClusterUnfitError,
    ClusterUnreachableError,
    ContinueExpiredError,
    QuotaExceededError,
    RejectedError,
    StaleError,
    TakenError,
)
from apiserver.nats.errors import QueueError, QueueNotAskedError

LONGEST_PAUSE: Final = 5


def queue_failure(error: QueueError) -> ServiceError:
    """The failure of the queue for somebody who only wants to know when to come back."""
    asked = error.retry_after if isinstance(error, QueueNotAskedError) else 1
    pause = min(asked, LONGEST_PAUSE)
    return ServiceUnavailableError("the queue cannot do this now; try again", retry_after=pause)


def service_error(error: ClusterError) -> ServiceError:
    """The same failure for somebody who knows nothing of our Kubernetes."""
    match error:
        case ClusterTimeoutError():
            return DeadlineError("Kubernetes did not answer in time; ask again")
        case ClusterUnfitError():
            return _operator("Kubernetes is not set up for the runtime API")
        case ClusterUnreachableError() | ClusterBusyError() | ClusterAnswerError():
            return _unavailable(error)
        case _:
            return _refusal(error)


def _unavailable(error: ClusterError) -> ServiceError:
    asked = error.retry_after if isinstance(error, ClusterBusyError | ClusterNotAskedError) else 1
    pause = min(max(asked or 1, 1), LONGEST_PAUSE)
    return ServiceUnavailableError("Kubernetes cannot do this now; try again", retry_after=pause)


def _refusal(error: ClusterError) -> ServiceError:
    match error:
        case RejectedError():
            return InvalidRequestError(error.message)
        case QuotaExceededError():
            return ConflictError(error.message)
        case AbsentError() | ContinueExpiredError():
            return _gone(error)
        case TakenError():
            return AlreadyExistsError("the name is taken")
        case StaleError():
            return ConflictError("the object has changed meanwhile; read it and try again")
        case _:
            return _operator("the runtime API is not allowed to do this in Kubernetes")


def _gone(error: AbsentError | ContinueExpiredError) -> ServiceError:
    if isinstance(error, AbsentError):
        return NotFoundError("there is no such object")
    return ListExpiredError("the rest of this list is no longer to be had; read it from its start")


def _operator(what: str) -> ServiceError:
    return OperatorNeededError(f"{what}; an operator must look at this")
