"""The interfaces through which services use the queue, and their values."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from shared.invocation.message import CallMessage, DeadLetterMessage
from shared.invocation.record import InvocationRecord

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class ConnectionStatus:
    """The status of the connection to NATS; `error` is the reason if it is not connected."""

    connected: bool
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A record and its revision for compare-and-set; the record is None after a deletion."""

    record: InvocationRecord | None
    revision: int


@dataclass(frozen=True, slots=True)
class RecordStorageUsage:
    """The bytes that all records use and may use; 0 is no limit."""

    used_bytes: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """One record of a list, without bodies; `sequence` is that of its last change."""

    function_name: str
    invocation_id: str
    record: InvocationRecord
    sequence: int


@dataclass(frozen=True, slots=True)
class ListedDeadLetter:
    """One dead letter of a list; `sequence` is its position in the stream."""

    function_name: str
    dead_letter: DeadLetterMessage
    sequence: int


@dataclass(frozen=True, slots=True)
class HistoryPage(Generic[T_co]):
    """One page of a list; the next page ends before `next_before`, which is None at the end."""

    items: tuple[T_co, ...]
    next_before: int | None


class RecordStore(Protocol):
    """The store of invocation records; every method raises only QueueError."""

    async def find(self, key: str) -> StoredRecord | None:
        """Return the record of a key, or None."""
        ...

    async def put(self, key: str, record: InvocationRecord, revision: int = 0) -> int:
        """Write a record if its revision is `revision` (0: none exists); return the new revision.

        Raises RecordConflictError.
        """
        ...

    async def delete(self, key: str, revision: int) -> None:
        """Delete a record if its revision is `revision`; raises RecordConflictError."""
        ...

    async def storage_usage(self) -> RecordStorageUsage:
        """Return how many bytes the records use."""
        ...


class CallQueue(Protocol):
    """The work queue of calls; every method raises only QueueError."""

    async def publish(self, call: CallMessage) -> None:
        """Queue a call unless it is queued already; raises QueueRejectedError for a full queue."""
        ...

    async def remove(self, call: CallMessage) -> None:
        """Remove the message of this run, if there is one."""
        ...

    async def count_pending(self, function_name: str) -> int:
        """Count the calls of a function that no worker has received."""
        ...

    async def count_unfinished(self, function_name: str) -> int:
        """Count the queued and running calls of a function."""
        ...

    async def count_all_unfinished(self) -> int:
        """Count the queued and running calls of all functions."""
        ...

    async def notify_cancelled(self, function_name: str, invocation_id: str) -> None:
        """Notify the workers of a function of a cancellation; the message can be lost."""
        ...


class OutcomeStream(Protocol):
    """The stream of outcomes and dead letters; every method raises only QueueError."""

    async def publish(self, key: str, record: InvocationRecord) -> None:
        """Publish the outcome of a final record; a duplicate has no effect."""
        ...


class BodyStore(Protocol):
    """The store of large bodies; every method raises only QueueError."""

    async def put(self, function_name: str, name: str, chunks: AsyncIterator[bytes]) -> int:
        """Store a body under an unused name, return its size; errors of `chunks` pass through."""
        ...

    def get(self, function_name: str, name: str) -> AsyncIterator[bytes]:
        """Yield the chunks of a body; raises BodyUnavailableError, also after some of them."""
        ...

    async def exists(self, function_name: str, name: str) -> bool:
        """Return whether the body exists."""
        ...

    async def delete(self, function_name: str, name: str) -> None:
        """Delete a body that no record refers to."""
        ...


class InvocationHistory(Protocol):
    """Lists of records and dead letters, newest first; every method raises only QueueError."""

    async def list_records(
        self, function_name: str, before: int | None, limit: int
    ) -> HistoryPage[ListedRecord]:
        """Return records changed before the sequence `before`, of one function or of all ("")."""
        ...

    async def list_dead_letters(
        self, function_name: str, before: int | None, limit: int
    ) -> HistoryPage[ListedDeadLetter]:
        """Return dead letters before the sequence `before`, of one function or of all ("")."""
        ...


class RecordChanges(Protocol):
    """Change signals of records."""

    def subscribe(self, key: str) -> AbstractAsyncContextManager["ChangeSignal"]:
        """Subscribe to the changes of one record for the length of the block."""
        ...


class ChangeSignal(Protocol):
    """A signal that a record may have changed."""

    async def wait(self, timeout_seconds: float) -> None:
        """Return at the next signal, or after `timeout_seconds`."""
        ...


@dataclass(frozen=True, slots=True)
class QueuePorts:
    """The whole interface to the queue."""

    records: RecordStore
    calls: CallQueue
    outcomes: OutcomeStream
    bodies: BodyStore
    history: InvocationHistory
    record_changes: RecordChanges
