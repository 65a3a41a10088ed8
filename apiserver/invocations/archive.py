"""Port of the result store: outcomes that the queue no longer has."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.invocation.record import InvocationRecord


class ArchiveError(Exception):
    """The result store does not respond; the text is for operators."""


@dataclass(frozen=True, slots=True, order=True)
class ArchiveCursor:
    """Position of an outcome in the archive: its end, then its unique key."""

    finished_at: int
    function_uid: str = ""
    invocation_id: str = ""
    run: int = 0


@dataclass(frozen=True, slots=True)
class ArchivedOutcome:
    """One archived outcome, as an invocation record."""

    function_name: str
    invocation_id: str
    record: InvocationRecord

    @property
    def cursor(self) -> ArchiveCursor:
        """Return its position."""
        record = self.record
        return ArchiveCursor(
            record.finished_at, record.function_uid, self.invocation_id, record.run
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveQuery:
    """A query for outcomes before a position, newest first; empty and None match all."""

    before: ArchiveCursor
    function_name: str = ""
    state: str = ""
    since: datetime | None = None
    limit: int = 100


class Archive(Protocol):
    """The outcomes of all runs; every method raises ArchiveError and nothing else."""

    async def find(self, function_uid: str, invocation_id: str) -> ArchivedOutcome | None:
        """Return the outcome of the last run of an invocation; None if there is none."""
        ...

    async def list(self, query: ArchiveQuery) -> tuple[ArchivedOutcome, ...]:
        """Return outcomes by their end, newest first."""
        ...
