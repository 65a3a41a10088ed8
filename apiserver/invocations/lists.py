"""Lists of invocations and dead letters, newest first, at a bounded cost."""

import base64
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol, TypeVar

from apiserver.errors import Detail, InvalidRequestError
from apiserver.functions.lookup import FunctionLookup
from apiserver.invocations.archive_reader import ArchiveLists, is_of_archive
from apiserver.invocations.commands import Invocation, ListDeadLetters, ListInvocations
from apiserver.kube.port import Page
from apiserver.nats.port import Entry, History, Letter, Stretch

MOST_LOOKED_AT: Final = 2000
FEWEST: Final = 50

_PLACE: Final = re.compile(r"v1\.([0-9]{1,18})", re.ASCII)


class Placed(Protocol):
    """Something with a place in its list."""

    @property
    def place(self) -> int: ...


P = TypeVar("P", bound=Placed)
Read = Callable[[int | None, int], Awaitable[Stretch[P]]]


class InvocationLists:
    """Reads lists from the queue's own history; a page may be short and still have a next one."""

    def __init__(
        self, history: History, functions: FunctionLookup, archive: ArchiveLists | None
    ) -> None:
        self._history = history
        self._functions = functions
        self._archive = archive

    async def invocations(self, query: ListInvocations) -> Page[Invocation]:
        """Invocations by their last change, then what only the archive has."""
        if query.since or query.until or is_of_archive(query.token):
            return await self._archived(query)
        found = await self._recent(query)
        items = tuple(
            Invocation(each.request_id, each.invocation_id, each.record) for each in found.items
        )
        if found.token or self._archive is None:
            return Page(items, found.token)
        return Page(items, self._archive.first_token(query))

    async def _recent(self, query: ListInvocations) -> Page[Entry]:
        async def read(below: int | None, most: int) -> Stretch[Entry]:
            stretch = await self._history.records(query.request_id, below, most)
            uids = await self._uids(each.request_id for each in stretch.items)
            wanted = (each for each in stretch.items if query.state in (None, each.record.state))
            mine = (each for each in wanted if uids[each.request_id] == each.record.function_uid)
            return Stretch(tuple(mine), stretch.below)

        return await page(read, query.limit, query.token)

    async def _archived(self, query: ListInvocations) -> Page[Invocation]:
        """What an earlier function of the name had counts as absent here, too."""
        if self._archive is None:
            problem = Detail("query.since", "needs the result store, which is not configured")
            raise InvalidRequestError("the query cannot be used", details=(problem,))
        found = await self._archive.invocations(query)
        uids = await self._uids(each.request_id for each in found.items)
        mine = (each for each in found.items if uids[each.request_id] == each.record.function_uid)
        return Page(tuple(mine), found.token)

    async def dead_letters(self, query: ListDeadLetters) -> Page[Letter]:
        """Dead letters as they came; those without a readable call are of nobody in particular."""

        async def read(below: int | None, most: int) -> Stretch[Letter]:
            stretch = await self._history.dead_letters(query.request_id, below, most)
            uids = await self._uids(each.request_id for each in stretch.items)
            return Stretch(
                tuple(each for each in stretch.items if is_of(each, uids)), stretch.below
            )

        return await page(read, query.limit, query.token)

    async def _uids(self, names: Iterable[str]) -> dict[str, str | None]:
        """The uid of each function; None for one that there is not."""
        return {name: await self._functions.uid(name) for name in set(names)}


def is_of(entry: Letter, uids: Mapping[str, str | None]) -> bool:
    """Whether a dead letter is of a function that there is; an unreadable one may be."""
    call = entry.letter.call
    return call is None or uids[entry.request_id] == call.function_uid


async def page(read: Read[P], limit: int, token: str) -> Page[P]:
    """The next ones below the token's place, after looking at a bounded number."""
    below, looked_at, found = place_of(token), 0, list[P]()
    while True:
        most = min(max(limit, FEWEST), MOST_LOOKED_AT - looked_at)
        stretch = await read(below, most)
        below, looked_at = stretch.below, looked_at + most
        found += stretch.items
        if len(found) > limit or (len(found) == limit and below is not None):
            return Page(tuple(found[:limit]), token_of(found[limit - 1].place))
        if below is None or looked_at >= MOST_LOOKED_AT:
            return Page(tuple(found), "" if below is None else token_of(below))


def token_of(place: int) -> str:
    """The `continue` that goes on below a place."""
    return base64.urlsafe_b64encode(f"v1.{place}".encode()).decode().rstrip("=")


def place_of(token: str) -> int | None:
    """The place of a `continue`; None for the start."""
    if not token:
        return None
    found = _PLACE.fullmatch(decoded(token))
    if found is None:
        problem = Detail("query.continue", "is not a `meta.continue` of this list")
        raise InvalidRequestError("the query cannot be used", details=(problem,))
    return int(found[1])


def decoded(token: str) -> str:
    """The text of a token; empty where it is none."""
    try:
        padded = token + "=" * (-len(token) % 4)
        return base64.b64decode(padded, altchars="-_", validate=True).decode("ascii")
    except ValueError:
        return ""
