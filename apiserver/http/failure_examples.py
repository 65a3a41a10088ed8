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
        "the body is invalid; see the details",
        details=(
            ErrorDetail("operationID", "is required"),
            ErrorDetail("replicas", "must be from 1 to 1000"),
        ),
    )
)
BAD_QUERY: Final = error_doc(
    InvalidRequestError(
        "the query is invalid; see the details",
        details=(ErrorDetail("query.limit", "must be from 1 to 500"),),
    )
)
NOT_FOUND: Final = error_doc(NotFoundError("no such object"))
CONFLICT: Final = error_doc(ConflictError("the stock unit is claimed by the unit trainer"))
OPERATION_CONFLICT: Final = error_doc(
    OperationConflictError("the operationID order-4711 was used for a different request")
)
ALREADY_EXISTS: Final = error_doc(
    AlreadyExistsError("another operation has created the unit trainer")
)
INSUFFICIENT_CAPACITY: Final = error_doc(
    InsufficientCapacityError("no stock unit of g1.1 is ready; 2 are Progressing")
)
CONTINUE_EXPIRED: Final = error_doc(
    ContinueTokenExpiredError(
        "the continue token has expired; start the list again without continue"
    )
)
PRECONDITION_FAILED: Final = error_doc(
    PreconditionFailedError("the unit has changed; read it again")
)

RAW_BODY_FAILURES: Final = (
    BAD_QUERY,
    error_doc(UriTooLongError("the path with its query has more than 40958 bytes")),
    error_doc(BodyTimeoutError("the body was not received in time")),
    error_doc(BodyTooLargeError("the body is larger than 65536 KiB")),
)
BODY_FAILURES: Final = (
    BAD_BODY,
    error_doc(BodyTimeoutError("the body was not received in time")),
    error_doc(BodyTooLargeError("the body is larger than 128 KiB")),
    error_doc(UnsupportedMediaTypeError("the request body must be application/json")),
)
CLUSTER_FAILURES: Final = (
    error_doc(InternalError()),
    error_doc(
        OperatorActionRequiredError(
            "the runtime API has no permission for this in Kubernetes; an operator must fix this"
        )
    ),
    error_doc(ServiceUnavailableError("Kubernetes cannot be reached", retry_after=5)),
    error_doc(DeadlineExceededError("Kubernetes did not respond in time; retry", retry_after=1)),
)
