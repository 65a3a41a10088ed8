"""What the use cases need of the queue: the ports and their values."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from shared.invocation.message import Call, DeadLetter
from shared.invocation.record import Record

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Kept:
    """A record and the revision by which it is replaced; None is one that was taken back."""

    record: Record | None
    revision: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How many bytes all records take, and how many they may; 0 is no limit."""

    taken: int
    most: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a list, without bodies; `place` is where in the order of changes it stands."""

    request_id: str
    invocation_id: str
    record: Record
    place: int


@dataclass(frozen=True, slots=True)
class Letter:
    """One dead letter of a list; `place` is where in their order it stands."""

    request_id: str
    letter: DeadLetter
    place: int


@dataclass(frozen=True, slots=True)
class Stretch(Generic[T_co]):
    """A part of a list; the next one is below the place `below`, None at the end."""

    items: tuple[T_co, ...]
    below: int | None


class RecordStore(Protocol):
    """The records of invocations; every method raises QueueError and nothing else."""

    async def find(self, key: str) -> Kept | None:
        """What is kept under a key."""
        ...

    async def write(self, key: str, record: Record, revision: int = 0) -> int:
        """Put a record in the place of that revision, 0 is none; RecordStaleError."""
        ...

    async def take_back(self, key: str, revision: int) -> None:
        """Make a record as if it had never been; RecordStaleError."""
        ...

    async def extent(self) -> Extent:
        """How much room the records take."""
        ...


class CallQueue(Protocol):
    """The work queue; every method raises QueueError and nothing else."""

    async def publish(self, call: Call) -> None:
        """Queue a call, unless it already is; QueueRefusedError when there is no room."""
        ...

    async def withdraw(self, call: Call) -> None:
        """Remove the message of this very run, if it is there."""
        ...

    async def queued(self, request_id: str) -> int:
        """How many calls of a function no worker has taken yet."""
        ...

    async def held(self, request_id: str) -> int:
        """How many calls of a function are queued or running."""
        ...

    async def held_by_all(self) -> int:
        """How many calls of all functions are queued or running."""
        ...

    async def nudge(self, request_id: str, invocation_id: str) -> None:
        """Tell the workers of a function that an invocation is cancelled, without a promise."""
        ...


class OutcomeLog(Protocol):
    """Where outcomes and dead letters are told; every method raises QueueError."""

    async def tell(self, key: str, record: Record) -> None:
        """Tell how a final record has ended; a second copy does no harm."""
        ...


class BodyStore(Protocol):
    """Large bodies; every method raises QueueError and nothing else."""

    async def put(self, request_id: str, name: str, chunks: AsyncIterator[bytes]) -> int:
        """Keep a body under a name that is used once; its size. What `chunks` raises comes out."""
        ...

    def get(self, request_id: str, name: str) -> AsyncIterator[bytes]:
        """A body piece by piece; BodyLostError, also in the middle."""
        ...

    async def has(self, request_id: str, name: str) -> bool:
        """Whether the body is there."""
        ...

    async def delete(self, request_id: str, name: str) -> None:
        """Remove a body that nobody will read."""
        ...


class History(Protocol):
    """Lists from the newest change to the oldest; at most a bounded number is looked at."""

    async def records(self, request_id: str, below: int | None, most: int) -> Stretch[Entry]:
        """The records that changed last before the place `below`, of one function or all ("")."""
        ...

    async def dead_letters(self, request_id: str, below: int | None, most: int) -> Stretch[Letter]:
        """The dead letters before the place `below`, of one function or all ("")."""
        ...


class Wakes(Protocol):
    """Hints that a record may have changed."""

    def listening(self, key: str) -> AbstractAsyncContextManager["Hint"]:
        """Hear of a key for the length of the block."""
        ...


class Hint(Protocol):
    """Something has happened to a key, or may have."""

    async def wait(self, seconds: float) -> None:
        """Return at a hint, or after `seconds`."""
        ...


@dataclass(frozen=True, slots=True)
class Queue:
    """All that is asked of the queue."""

    records: RecordStore
    calls: CallQueue
    outcomes: OutcomeLog
    bodies: BodyStore
    history: History
    wakes: Wakes
