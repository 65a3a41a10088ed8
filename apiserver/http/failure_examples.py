"""Examples of error responses for the OpenAPI document."""

from typing import Final

from apiserver.errors import (
    AlreadyExistsError,
    BodyTimeoutError,
    BodyTooLargeError,
    ConflictError,
    ContinueTokenExpiredError,
    DeadlineExceededError,
    ErrorDetail,
    InsufficientCapacityError,
    InternalError,
    InvalidRequestError,
    NotFoundError,
    OperationConflictError,
    OperatorActionRequiredError,
    PreconditionFailedError,
    ServiceUnavailableError,
    UnsupportedMediaTypeError,
    UriTooLongError,
)
from apiserver.http.openapi import error_doc

BAD_BODY: Final = error_doc(
    InvalidRequestError(
        "the body cannot be used; see the details",
        details=(
            ErrorDetail("operationID", "is required"),
            ErrorDetail("replicas", "must be from 1 to 1000"),
        ),
    )
)
BAD_QUERY: Final = error_doc(
    InvalidRequestError(
        "the query cannot be used", details=(ErrorDetail("query.limit", "must be from 1 to 500"),)
    )
)
NOT_FOUND: Final = error_doc(NotFoundError("there is nothing of this name"))
CONFLICT: Final = error_doc(ConflictError("the stock unit is claimed by the unit trainer"))
OPERATION_CONFLICT: Final = error_doc(
    OperationConflictError("the operationID order-4711 was used with another request")
)
ALREADY_EXISTS: Final = error_doc(AlreadyExistsError("another operation has made the unit trainer"))
INSUFFICIENT_CAPACITY: Final = error_doc(
    InsufficientCapacityError("there is no ready stock of g1.1; there are 2 Progressing")
)
CONTINUE_EXPIRED: Final = error_doc(
    ContinueTokenExpiredError("the rest of the list has expired; begin again without continue")
)
PRECONDITION_FAILED: Final = error_doc(
    PreconditionFailedError("the unit was changed since; get it again")
)

RAW_BODY_FAILURES: Final = (
    BAD_QUERY,
    error_doc(UriTooLongError("the path with its query has more than 40958 bytes")),
    error_doc(BodyTimeoutError("the body did not come in time")),
    error_doc(BodyTooLargeError("the body is larger than 65536 KiB")),
)
BODY_FAILURES: Final = (
    BAD_BODY,
    error_doc(BodyTimeoutError("the body did not come in time")),
    error_doc(BodyTooLargeError("the body is larger than 128 KiB")),
    error_doc(UnsupportedMediaTypeError("the request needs a body of type application/json")),
)
CLUSTER_FAILURES: Final = (
    error_doc(InternalError()),
    error_doc(
        OperatorActionRequiredError(
            "Kubernetes refuses the runtime API; an operator must look at this"
        )
    ),
    error_doc(ServiceUnavailableError("Kubernetes cannot be reached", retry_after=5)),
    error_doc(DeadlineExceededError("Kubernetes did not answer in time", retry_after=1)),
)
