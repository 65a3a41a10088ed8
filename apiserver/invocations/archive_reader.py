"""Reads outcomes that the queue no longer has."""

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from apiserver.errors import ErrorDetail, InvalidRequestError, ServiceUnavailableError
from apiserver.invocations.archive import (
    Archive,
    ArchiveCursor,
    ArchivedOutcome,
    ArchiveError,
    ArchiveQuery,
)
from apiserver.invocations.commands import Invocation, ListInvocations
from apiserver.kube.port import Page
from shared.clock import Clock
from shared.invocation.state import FINAL_STATES
from shared.time import now_ms

MAX_TIMESTAMP_MS: Final = 2**42  # in the year 2109
_TOKEN_PREFIX: Final = "a1."  # noqa: S105


@dataclass(frozen=True, slots=True)
class ArchiveReader:
    """Reads the archive; the queue itself keeps records for `retention_seconds`."""

    archive: Archive
    clock: Clock
    retention_seconds: float

    async def list_invocations(self, query: ListInvocations) -> Page[Invocation]:
        """Return one page of outcomes by their end, newest first."""
        outcomes = await self._list(query)
        items = tuple(
            Invocation(item.function_name, item.invocation_id, item.record) for item in outcomes
        )
        is_full = len(outcomes) == query.limit
        return Page(items, encode_token(outcomes[-1].cursor) if is_full else "")

    def first_token(self, query: ListInvocations) -> str:
        """Return the `continue` of the first page after the queue; empty if nothing can match."""
        if query.state is not None and query.state not in FINAL_STATES:
            return ""
        oldest = now_ms(self.clock) - int(self.retention_seconds * 1000)
        return encode_token(ArchiveCursor(oldest))

    async def find(self, function_uid: str, invocation_id: str) -> ArchivedOutcome | None:
        """Return the outcome of the last run, or None; ServiceUnavailableError."""
        try:
            return await self.archive.find(function_uid, invocation_id)
        except ArchiveError as error:
            raise archive_unavailable_error() from error

    async def _list(self, query: ListInvocations) -> tuple[ArchivedOutcome, ...]:
        until = MAX_TIMESTAMP_MS if query.until is None else round(query.until.timestamp() * 1000)
        before = min(ArchiveCursor(until), decode_token(query.continue_token))
        archive_query = ArchiveQuery(
            before=before,
            function_name=query.function_name,
            state=query.state.value if query.state else "",
            since=query.since,
            limit=query.limit,
        )
        try:
            return await self.archive.list(archive_query)
        except ArchiveError as error:
            raise archive_unavailable_error() from error


def is_archive_token(continue_token: str) -> bool:
    """Return whether a `continue` belongs to the archive."""
    return continue_token.startswith(_TOKEN_PREFIX)


def encode_token(cursor: ArchiveCursor) -> str:
    """Return the `continue` of a position."""
    content = [cursor.finished_at, cursor.function_uid, cursor.invocation_id, cursor.run]
    return _TOKEN_PREFIX + base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip(
        "="
    )


def decode_token(continue_token: str) -> ArchiveCursor:
    """Return the position of a `continue`; the latest possible one for an empty text."""
    if not continue_token:
        return ArchiveCursor(MAX_TIMESTAMP_MS)
    text = continue_token.removeprefix(_TOKEN_PREFIX)
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
        cursor = ArchiveCursor(*msgspec.json.decode(content, type=tuple[int, str, str, int]))
    except (ValueError, msgspec.DecodeError):
        cursor = ArchiveCursor(-1)
    if (
        not 0 <= cursor.finished_at <= MAX_TIMESTAMP_MS
        or "\0" in cursor.function_uid + cursor.invocation_id
    ):
        problem = ErrorDetail("query.continue", "is not a `meta.continue` of this list")
        raise InvalidRequestError("the query is invalid; see the details", details=(problem,))
    return cursor


def archive_unavailable_error() -> ServiceUnavailableError:
    return ServiceUnavailableError("the result store cannot be reached; try again", retry_after=1)
