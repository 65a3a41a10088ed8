"""The failure of an operation as text: the error code for programs, a message for people."""

from apiserver.errors import (
    AlreadyExistsError,
    ConflictError,
    InsufficientCapacityError,
    InvalidRequestError,
    ServiceError,
)
from shared.v1alpha1.operation import Operation

ERROR_TYPES: tuple[type[ServiceError], ...] = (
    AlreadyExistsError,
    ConflictError,
    InsufficientCapacityError,
    InvalidRequestError,
)


def failure_text(error: ServiceError) -> str:
    return f"{error.code}: {error.message}"


def recorded_failure(operation: Operation) -> ServiceError:
    """Return the error that an operation failed with."""
    code, _, message = operation.status.message.partition(": ")
    for error_type in ERROR_TYPES:
        if error_type.code == code:
            return error_type(message)
    return ConflictError(operation.status.message or "the operation has failed")
