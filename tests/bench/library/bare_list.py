"""The floor of an initial sync: the body of the list, fetched in every way and thrown away."""

import time
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from tests.bench.connection import Connection
from tests.bench.library.widget_crd import collection

PAGE = "500"
STREAMING = {
    "watch": "true",
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}
END = b'"k8s.io/initial-events-end":"true"'


class ListMeta(msgspec.Struct, rename={"continue_": "continue"}):
    """Where the next page begins."""

    continue_: str = ""


class Page(msgspec.Struct):
    """A list of which only the way on is read."""

    metadata: ListMeta


@dataclass(frozen=True)
class Variant:
    """One way to ask for the list."""

    gzip: bool
    paged: bool
    from_cache: bool

    def __str__(self) -> str:
        parts = (
            "gzip" if self.gzip else "identity",
            f"pages of {PAGE}" if self.paged else "whole",
            "resourceVersion=0" if self.from_cache else "latest",
        )
        return ", ".join(parts)


VARIANTS = tuple(
    Variant(gzip, paged, from_cache)
    for gzip in (False, True)
    for paged in (False, True)
    for from_cache in (False, True)
)


async def fetched(connection: Connection, variant: Variant) -> tuple[float, int]:
    """Seconds and bytes of one complete list."""
    query = {"limit": PAGE} if variant.paged else {}
    version = {"resourceVersion": "0"} if variant.from_cache else {}
    began = time.perf_counter()
    body = await connection.get(collection(), gzip=variant.gzip, **query, **version)
    size = len(body)
    while variant.paged and (token := msgspec.json.decode(body, type=Page).metadata.continue_):
        more = {"continue": token}
        body = await connection.get(collection(), gzip=variant.gzip, **query, **more)
        size += len(body)
    return time.perf_counter() - began, size


async def streamed(connection: Connection, *, gzip: bool) -> float:
    """Seconds until a streaming list has sent its last object."""
    began = time.perf_counter()
    tail = b""
    async with aclosing(connection.chunks(collection(), gzip=gzip, **STREAMING)) as chunks:
        async for chunk in chunks:
            tail = tail[-len(END) :] + chunk
            if END in tail:
                break
    return time.perf_counter() - began
