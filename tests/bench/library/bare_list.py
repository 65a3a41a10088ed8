"""The lower bound of an initial sync: the list's body, fetched in every variant and discarded."""

import time
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from tests.bench.connection import Connection
from tests.bench.library.widget_crd import widgets_path

PAGE_SIZE = "500"
STREAMING_LIST_QUERY = {
    "watch": "true",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}
LIST_END = b'"k8s.io/initial-events-end":"true"'


class ListMeta(msgspec.Struct, rename={"continue_": "continue"}):
    """The continue token of a page."""

    continue_: str = ""


class ListPage(msgspec.Struct):
    """A page of which only the continue token is decoded."""

    metadata: ListMeta


@dataclass(frozen=True)
class ListVariant:
    """One way to request the list."""

    gzip: bool
    paged: bool
    from_cache: bool

    def __str__(self) -> str:
        parts = (
            "gzip" if self.gzip else "identity",
            f"pages of {PAGE_SIZE}" if self.paged else "whole",
            "resourceVersion=0" if self.from_cache else "latest",
        )
        return ", ".join(parts)


LIST_VARIANTS = tuple(
    ListVariant(gzip, paged, from_cache)
    for gzip in (False, True)
    for paged in (False, True)
    for from_cache in (False, True)
)


async def time_list(connection: Connection, variant: ListVariant) -> tuple[float, int]:
    """Return the seconds and bytes of one complete list."""
    query = {"limit": PAGE_SIZE} if variant.paged else {}
    version = {"resourceVersion": "0"} if variant.from_cache else {}
    began = time.perf_counter()
    body = await connection.get(widgets_path(), gzip=variant.gzip, **query, **version)
    size = len(body)
    while variant.paged and (token := msgspec.json.decode(body, type=ListPage).metadata.continue_):
        next_page = {"continue": token}
        body = await connection.get(widgets_path(), gzip=variant.gzip, **query, **next_page)
        size += len(body)
    return time.perf_counter() - began, size


async def time_streaming_list(connection: Connection, *, gzip: bool) -> float:
    """Return the seconds until a streaming list has sent its last object."""
    began = time.perf_counter()
    tail = b""
    async with aclosing(
        connection.chunks(widgets_path(), gzip=gzip, **STREAMING_LIST_QUERY)
    ) as chunks:
        async for chunk in chunks:
            tail = tail[-len(LIST_END) :] + chunk
            if LIST_END in tail:
                break
    return time.perf_counter() - began
