"""Results of requests that carry an operationID."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class ResultKind(Enum):
    """How a request relates to its operation; exactly one request gets NEW."""

    NEW = auto()
    REPLAY = auto()
    UNFINISHED = auto()


@dataclass(frozen=True, slots=True)
class OperationResult(Generic[T_co]):
    """The object that the operation created; the Operation itself while it is unfinished."""

    value: T_co
    kind: ResultKind


@dataclass(frozen=True, slots=True)
class DeletedObject:
    """An object that an operation created and that was deleted later."""

    name: str
    namespace: str
    uid: str
    operation_id: str
