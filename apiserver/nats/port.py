"""What the use cases need of the queue: the ports and their values."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from shared.invocation.message import CallMessage, DeadLetterMessage
from shared.invocation.record import InvocationRecord

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """Whether the connection to NATS is up; `error` says why it is not."""

    connected: bool
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record and the revision by which it is replaced; None is one that was taken back."""

    record: InvocationRecord | None
    revision: int


@dataclass(frozen=True, slots=True)
class RecordStorageUsage:
    """How many bytes all records take, and how many they may; 0 is no limit."""

    used_bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """One record of a list, without bodies; `place` is where in the order of changes it stands."""

    function_name: str
    invocation_id: str
    record: InvocationRecord
    sequence: int


@dataclass(frozen=True, slots=True)
class ListedDeadLetter:
    """One dead letter of a list; `place` is where in their order it stands."""

    function_name: str
    dead_letter: DeadLetterMessage
    sequence: int


@dataclass(frozen=True, slots=True)
class HistoryPage(Generic[T_co]):
    """A part of a list; the next one is below the place `below`, None at the end."""

    items: tuple[T_co, ...]
    next_before: int | None


class RecordStore(Protocol):
    """The records of invocations; every method raises QueueError and nothing else."""

    async def find(self, key: str) -> StoredRecord | None:
        """What is kept under a key."""
        ...

    async def put(self, key: str, record: InvocationRecord, revision: int = 0) -> int:
        """Put a record in the place of that revision, 0 is none; RecordConflictError."""
        ...

    async def delete(self, key: str, revision: int) -> None:
        """Make a record as if it had never been; RecordConflictError."""
        ...

    async def storage_usage(self) -> RecordStorageUsage:
        """How much room the records take."""
        ...


class CallQueue(Protocol):
    """The work queue; every method raises QueueError and nothing else."""

    async def publish(self, call: CallMessage) -> None:
        """Queue a call, unless it already is; QueueRejectedError when there is no room."""
        ...

    async def remove(self, call: CallMessage) -> None:
        """Remove the message of this very run, if it is there."""
        ...

    async def count_pending(self, function_name: str) -> int:
        """How many calls of a function no worker has taken yet."""
        ...

    async def count_unfinished(self, function_name: str) -> int:
        """How many calls of a function are queued or running."""
        ...

    async def count_all_unfinished(self) -> int:
        """How many calls of all functions are queued or running."""
        ...

    async def notify_cancelled(self, function_name: str, invocation_id: str) -> None:
        """Tell the workers of a function that an invocation is cancelled, without a promise."""
        ...


class OutcomeStream(Protocol):
    """Where outcomes and dead letters are told; every method raises QueueError."""

    async def publish(self, key: str, record: InvocationRecord) -> None:
        """Tell how a final record has ended; a second copy does no harm."""
        ...


class BodyStore(Protocol):
    """Large bodies; every method raises QueueError and nothing else."""

    async def put(self, function_name: str, name: str, chunks: AsyncIterator[bytes]) -> int:
        """Keep a body under a name that is used once; its size. What `chunks` raises comes out."""
        ...

    def get(self, function_name: str, name: str) -> AsyncIterator[bytes]:
        """A body piece by piece; BodyLostError, also in the middle."""
        ...

    async def exists(self, function_name: str, name: str) -> bool:
        """Whether the body is there."""
        ...

    async def delete(self, function_name: str, name: str) -> None:
        """Remove a body that nobody will read."""
        ...


class InvocationHistory(Protocol):
    """Lists from the newest change to the oldest; at most a bounded number is looked at."""

    async def list_records(
        self, function_name: str, before: int | None, limit: int
    ) -> HistoryPage[ListedRecord]:
        """The records that changed last before the place `below`, of one function or all ("")."""
        ...

    async def list_dead_letters(
        self, function_name: str, before: int | None, limit: int
    ) -> HistoryPage[ListedDeadLetter]:
        """The dead letters before the place `below`, of one function or all ("")."""
        ...


class RecordChanges(Protocol):
    """Hints that a record may have changed."""

    def subscribe(self, key: str) -> AbstractAsyncContextManager["ChangeSignal"]:
        """Hear of a key for the length of the block."""
        ...


class ChangeSignal(Protocol):
    """Something has happened to a key, or may have."""

    async def wait(self, timeout_seconds: float) -> None:
        """Return at a hint, or after `seconds`."""
        ...


@dataclass(frozen=True, slots=True)
class QueuePorts:
    """All that is asked of the queue."""

    records: RecordStore
    calls: CallQueue
    outcomes: OutcomeStream
    bodies: BodyStore
    history: InvocationHistory
    record_changes: RecordChanges
