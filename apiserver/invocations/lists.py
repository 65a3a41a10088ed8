"""Lists of invocations and dead letters, newest first, at a bounded cost."""

import base64
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, Protocol, TypeVar

from apiserver.errors import ErrorDetail, InvalidRequestError
from apiserver.functions.lookup import FunctionLookup
from apiserver.invocations.archive_reader import ArchiveReader, is_archive_token
from apiserver.invocations.commands import Invocation, ListDeadLetters, ListInvocations
from apiserver.kube.port import Page
from apiserver.nats.port import HistoryPage, InvocationHistory, ListedDeadLetter, ListedRecord

MAX_SCANNED: Final = 2000
MIN_BATCH_SIZE: Final = 50

_TOKEN_PATTERN: Final = re.compile(r"v1\.([0-9]{1,18})", re.ASCII)


class Sequenced(Protocol):
    """An item with a position in its list."""

    @property
    def sequence(self) -> int: ...


P = TypeVar("P", bound=Sequenced)
ReadBatch = Callable[[int | None, int], Awaitable[HistoryPage[P]]]


class InvocationLists:
    """Lists invocations from the history of the queue; a short page may still have a next one."""

    def __init__(
        self,
        history: InvocationHistory,
        function_lookup: FunctionLookup,
        archive: ArchiveReader | None,
    ) -> None:
        self._history = history
        self._function_lookup = function_lookup
        self._archive = archive

    async def list_invocations(self, query: ListInvocations) -> Page[Invocation]:
        """List invocations by their last change, then those that only the archive has."""
        if query.since or query.until or is_archive_token(query.continue_token):
            return await self._list_archived(query)
        page = await self._list_recent(query)
        items = tuple(
            Invocation(item.function_name, item.invocation_id, item.record) for item in page.items
        )
        if page.continue_token or self._archive is None:
            return Page(items, page.continue_token)
        return Page(items, self._archive.first_token(query))

    async def _list_recent(self, query: ListInvocations) -> Page[ListedRecord]:
        async def read(before: int | None, limit: int) -> HistoryPage[ListedRecord]:
            batch = await self._history.list_records(query.function_name, before, limit)
            uids = await self._function_uids(item.function_name for item in batch.items)
            items = (
                item
                for item in batch.items
                if query.state in (None, item.record.state)
                and uids[item.function_name] == item.record.function_uid
            )
            return HistoryPage(tuple(items), batch.next_before)

        return await collect_page(read, query.limit, query.continue_token)

    async def _list_archived(self, query: ListInvocations) -> Page[Invocation]:
        """List archived outcomes, without those of an earlier function of the same name."""
        if self._archive is None:
            problem = ErrorDetail(
                "query.since", "requires the result store, which is not configured"
            )
            raise InvalidRequestError("the query is invalid; see the details", details=(problem,))
        page = await self._archive.list_invocations(query)
        uids = await self._function_uids(item.function_name for item in page.items)
        items = (
            item for item in page.items if uids[item.function_name] == item.record.function_uid
        )
        return Page(tuple(items), page.continue_token)

    async def list_dead_letters(self, query: ListDeadLetters) -> Page[ListedDeadLetter]:
        """List dead letters, newest first; those without a readable call belong to no function."""

        async def read(before: int | None, limit: int) -> HistoryPage[ListedDeadLetter]:
            batch = await self._history.list_dead_letters(query.function_name, before, limit)
            uids = await self._function_uids(item.function_name for item in batch.items)
            return HistoryPage(
                tuple(item for item in batch.items if is_of_existing_function(item, uids)),
                batch.next_before,
            )

        return await collect_page(read, query.limit, query.continue_token)

    async def _function_uids(self, function_names: Iterable[str]) -> dict[str, str | None]:
        """Return the uid of each function; None for an absent one."""
        return {name: await self._function_lookup.find_uid(name) for name in set(function_names)}


def is_of_existing_function(dead_letter: ListedDeadLetter, uids: Mapping[str, str | None]) -> bool:
    """Return whether a dead letter belongs to an existing function, or is unreadable."""
    call = dead_letter.dead_letter.call
    return call is None or uids[dead_letter.function_name] == call.function_uid


async def collect_page(read_batch: ReadBatch[P], limit: int, continue_token: str) -> Page[P]:
    """Return the items before the position of the token; at most MAX_SCANNED are read."""
    before, scanned, items = decode_token(continue_token), 0, list[P]()
    while True:
        batch_size = min(max(limit, MIN_BATCH_SIZE), MAX_SCANNED - scanned)
        batch = await read_batch(before, batch_size)
        before, scanned = batch.next_before, scanned + batch_size
        items += batch.items
        if len(items) > limit or (len(items) == limit and before is not None):
            return Page(tuple(items[:limit]), encode_token(items[limit - 1].sequence))
        if before is None or scanned >= MAX_SCANNED:
            return Page(tuple(items), "" if before is None else encode_token(before))


def encode_token(sequence: int) -> str:
    """Return the `continue` of a position."""
    return base64.urlsafe_b64encode(f"v1.{sequence}".encode()).decode().rstrip("=")


def decode_token(continue_token: str) -> int | None:
    """Return the position of a `continue`; None for an empty text."""
    if not continue_token:
        return None
    match = _TOKEN_PATTERN.fullmatch(decode_base64(continue_token))
    if match is None:
        problem = ErrorDetail("query.continue", "is not a `meta.continue` of this list")
        raise InvalidRequestError("the query is invalid; see the details", details=(problem,))
    return int(match[1])


def decode_base64(token: str) -> str:
    """Return the decoded text of a token; empty for an invalid one."""
    try:
        padded = token + "=" * (-len(token) % 4)
        return base64.b64decode(padded, altchars="-_", validate=True).decode("ascii")
    except ValueError:
        return ""
