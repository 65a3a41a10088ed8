"""Failures as the document shows them."""

from typing import Final

from apiserver.errors import (
    AddressTooLongError,
    AlreadyExistsError,
    ConflictError,
    ContinueExpiredError,
    DeadlineError,
    Detail,
    InsufficientCapacityError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    OperationConflictError,
    OperatorNeededError,
    PreconditionFailedError,
    ServiceUnavailableError,
    SlowBodyError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from apiserver.http.openapi import failed

BAD_BODY: Final = failed(
    InvalidRequestError(
        "the body cannot be used; see the details",
        details=(
            Detail("operationID", "is required"),
            Detail("replicas", "must be from 1 to 1000"),
        ),
    )
)
BAD_QUERY: Final = failed(
    InvalidRequestError(
        "the query cannot be used", details=(Detail("query.limit", "must be from 1 to 500"),)
    )
)
NOT_FOUND: Final = failed(NotFoundError("there is nothing of this name"))
CONFLICT: Final = failed(ConflictError("the stock unit is claimed by the unit trainer"))
OPERATION_CONFLICT: Final = failed(
    OperationConflictError("the operationID order-4711 was used with another request")
)
ALREADY_EXISTS: Final = failed(AlreadyExistsError("another operation has made the unit trainer"))
INSUFFICIENT_CAPACITY: Final = failed(
    InsufficientCapacityError("there is no ready stock of g1.1; there are 2 Progressing")
)
CONTINUE_EXPIRED: Final = failed(
    ContinueExpiredError("the rest of the list has expired; begin again without continue")
)
PRECONDITION_FAILED: Final = failed(
    PreconditionFailedError("the unit was changed since; get it again")
)

RAW_BODY: Final = (
    BAD_QUERY,
    failed(AddressTooLongError("the path with its query has more than 40958 bytes")),
    failed(SlowBodyError("the body did not come in time")),
    failed(TooLargeError("the body is larger than 65536 KiB")),
)
BODY: Final = (
    BAD_BODY,
    failed(SlowBodyError("the body did not come in time")),
    failed(TooLargeError("the body is larger than 128 KiB")),
    failed(UnsupportedMediaTypeError("the request needs a body of type application/json")),
)
CLUSTER: Final = (
    failed(InternalError()),
    failed(
        OperatorNeededError("Kubernetes refuses the runtime API; an operator must look at this")
    ),
    failed(ServiceUnavailableError("Kubernetes cannot be reached", retry_after=5)),
    failed(DeadlineError("Kubernetes did not answer in time", retry_after=1)),
)
