"""What the use cases need of the result store: outcomes that the queue no longer has."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.invocation.record import InvocationRecord


class ArchiveError(Exception):
    """The result store does not answer; the text says to an operator why."""


@dataclass(frozen=True, slots=True, order=True)
class ArchiveCursor:
    """Where in the archive an outcome stands: by its end, then by what makes it unique."""

    finished_at: int
    function_uid: str = ""
    invocation_id: str = ""
    run: int = 0


@dataclass(frozen=True, slots=True)
class ArchivedOutcome:
    """One outcome, as the record that it was once in."""

    function_name: str
    invocation_id: str
    record: InvocationRecord

    @property
    def cursor(self) -> ArchiveCursor:
        """Where it stands."""
        record = self.record
        return ArchiveCursor(
            record.finished_at, record.function_uid, self.invocation_id, record.run
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveQuery:
    """Which outcomes, from the newest below a place on; empty and None is any."""

    before: ArchiveCursor
    function_name: str = ""
    state: str = ""
    since: datetime | None = None
    limit: int = 100


class Archive(Protocol):
    """The outcomes of all runs; every method raises ArchiveError and nothing else."""

    async def find(self, function_uid: str, invocation_id: str) -> ArchivedOutcome | None:
        """The outcome of the last run of an invocation."""
        ...

    async def list(self, query: ArchiveQuery) -> tuple[ArchivedOutcome, ...]:
        """Outcomes by their end, newest first."""
        ...
