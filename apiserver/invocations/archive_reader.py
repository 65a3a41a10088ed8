"""Lists of outcomes that the queue no longer has."""

import base64
from dataclasses import dataclass
from typing import Final

import msgspec

from apiserver.clock import Clock
from apiserver.errors import Detail, InvalidRequestError, ServiceUnavailableError
from apiserver.invocations.archive import (
    Archive,
    Archived,
    ArchiveError,
    ArchivePlace,
    ArchiveQuery,
)
from apiserver.invocations.commands import Invocation, ListInvocations
from apiserver.kube.port import Page
from apiserver.timestamps import milliseconds
from shared.invocation.state import FINAL

END: Final = 2**42  # milliseconds: long after all of this
_PREFIX: Final = "a1."


@dataclass(frozen=True, slots=True)
class ArchiveLists:
    """Goes on where the queue's own history ends; `kept_seconds` is how far that goes back."""

    archive: Archive
    clock: Clock
    kept_seconds: float

    async def invocations(self, query: ListInvocations) -> Page[Invocation]:
        """Outcomes by their end, newest first."""
        found = await self._list(query)
        items = tuple(
            Invocation(each.request_id, each.invocation_id, each.record) for each in found
        )
        return Page(items, token_of(found[-1].place) if len(found) == query.limit else "")

    def first_token(self, query: ListInvocations) -> str:
        """The `continue` with which the archive follows the queue; empty if it has none of it."""
        if query.state is not None and query.state not in FINAL:
            return ""
        oldest = milliseconds(self.clock) - int(self.kept_seconds * 1000)
        return token_of(ArchivePlace(oldest))

    async def find(self, function_uid: str, invocation_id: str) -> Archived | None:
        """The outcome of an invocation's last run; ServiceUnavailableError."""
        try:
            return await self.archive.find(function_uid, invocation_id)
        except ArchiveError as error:
            raise unavailable() from error

    async def _list(self, query: ListInvocations) -> tuple[Archived, ...]:
        until = END if query.until is None else round(query.until.timestamp() * 1000)
        below = min(ArchivePlace(until), place_of(query.token))
        wanted = ArchiveQuery(
            below=below,
            request_id=query.request_id,
            state=query.state.value if query.state else "",
            since=query.since,
            limit=query.limit,
        )
        try:
            return await self.archive.list(wanted)
        except ArchiveError as error:
            raise unavailable() from error


def is_of_archive(token: str) -> bool:
    """Whether a `continue` goes on in the archive."""
    return token.startswith(_PREFIX)


def token_of(place: ArchivePlace) -> str:
    """The `continue` that goes on below a place."""
    content = [place.finished_at, place.function_uid, place.invocation_id, place.run]
    return _PREFIX + base64.urlsafe_b64encode(msgspec.json.encode(content)).decode().rstrip("=")


def place_of(token: str) -> ArchivePlace:
    """The place of a `continue`; the very end of time for none."""
    if not token:
        return ArchivePlace(END)
    text = token.removeprefix(_PREFIX)
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
        place = ArchivePlace(*msgspec.json.decode(content, type=tuple[int, str, str, int]))
    except (ValueError, msgspec.DecodeError):
        place = ArchivePlace(-1)
    if not 0 <= place.finished_at <= END or "\0" in place.function_uid + place.invocation_id:
        problem = Detail("query.continue", "is not a `meta.continue` of this list")
        raise InvalidRequestError("the query cannot be used", details=(problem,))
    return place


def unavailable() -> ServiceUnavailableError:
    return ServiceUnavailableError("the result store cannot be reached; try again", retry_after=1)
