"""What the use cases need of the result store: outcomes that the queue no longer has."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from shared.invocation.record import Record


class ArchiveError(Exception):
    """The result store does not answer; the text says to an operator why."""


@dataclass(frozen=True, slots=True, order=True)
class ArchivePlace:
    """Where in the archive an outcome stands: by its end, then by what makes it unique."""

    finished_at: int
    function_uid: str = ""
    invocation_id: str = ""
    run: int = 0


@dataclass(frozen=True, slots=True)
class Archived:
    """One outcome, as the record that it was once in."""

    request_id: str
    invocation_id: str
    record: Record

    @property
    def place(self) -> ArchivePlace:
        """Where it stands."""
        record = self.record
        return ArchivePlace(record.finished_at, record.function_uid, self.invocation_id, record.run)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveQuery:
    """Which outcomes, from the newest below a place on; empty and None is any."""

    below: ArchivePlace
    request_id: str = ""
    state: str = ""
    since: datetime | None = None
    limit: int = 100


class Archive(Protocol):
    """The outcomes of all runs; every method raises ArchiveError and nothing else."""

    async def find(self, function_uid: str, invocation_id: str) -> Archived | None:
        """The outcome of the last run of an invocation."""
        ...

    async def list(self, query: ArchiveQuery) -> tuple[Archived, ...]:
        """Outcomes by their end, newest first."""
        ...
