"""What became of a request that carries an operationID."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class ResultKind(Enum):
    """Exactly one request of an operation is answered as NEW."""

    NEW = auto()
    REPLAY = auto()
    UNFINISHED = auto()


@dataclass(frozen=True, slots=True)
class OperationResult(Generic[T_co]):
    """What the operation made; its record (an Operation) while it is unfinished."""

    value: T_co
    kind: ResultKind


@dataclass(frozen=True, slots=True)
class DeletedObject:
    """What an operation made and somebody has deleted since."""

    name: str
    namespace: str
    uid: str
    operation_id: str
