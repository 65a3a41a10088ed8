"""A source of lists and watches that tells nothing new of one kind for as long as a test wants."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

from controller.runtime.cache.reflector import WatchStream
from controller.runtime.client.client import Client
from controller.runtime.client.decoding import Decoder, ObjectList
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object

T = TypeVar("T", bound=Object)


class LaggingWatch:
    """A watch whose news wait."""

    def __init__(self, events: WatchStream, may_deliver: asyncio.Event) -> None:
        self._events = events
        self._may_deliver = may_deliver

    async def batches(self) -> AsyncIterator[list[bytes]]:
        async for lines in self._events.batches():
            await self._may_deliver.wait()
            yield lines

    def close(self) -> None:
        self._events.close()


class LaggingSource:
    """A client's lists and watches; those of `kind` lag until `catch_up`."""

    def __init__(self, client: Client, kind: Kind[Any]) -> None:
        self._client = client
        self._kind = kind
        self._may_deliver = asyncio.Event()

    def catch_up(self) -> None:
        self._may_deliver.set()

    async def list(self, kind: Kind[T], namespace: str, query: Mapping[str, str]) -> ObjectList[T]:
        return await self._client.list(kind, namespace, query)

    async def watch(
        self, kind: Kind[T], namespace: str, query: Mapping[str, str], *, idle_timeout: float
    ) -> WatchStream:
        events = await self._client.watch(kind, namespace, query, idle_timeout=idle_timeout)
        return LaggingWatch(events, self._may_deliver) if kind == self._kind else events

    def decoder(self, kind: Kind[T]) -> Decoder[T]:
        return self._client.decoder(kind)
