"""Why an operation failed, as its record keeps it: the code for programs, the text for people."""

from apiserver.errors import (
    AlreadyExistsError,
    ConflictError,
    InsufficientCapacityError,
    InvalidRequestError,
    ServiceError,
)
from shared.v1alpha1.operation import Operation

KINDS: tuple[type[ServiceError], ...] = (
    AlreadyExistsError,
    ConflictError,
    InsufficientCapacityError,
    InvalidRequestError,
)


def failure_text(error: ServiceError) -> str:
    return f"{error.code}: {error.message}"


def recorded_failure(record: Operation) -> ServiceError:
    """The error that the record tells of."""
    code, _, message = record.status.message.partition(": ")
    for kind in KINDS:
        if kind.code == code:
            return kind(message)
    return ConflictError(record.status.message or "the operation has failed")
