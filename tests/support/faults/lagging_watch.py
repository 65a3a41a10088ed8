"""Watches of one kind that deliver nothing until a test allows it, alone or in a controller."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

from prometheus_client import CollectorRegistry

from controller.runtime.cache.reflector import WatchStream
from controller.runtime.client.client import Client, Query
from controller.runtime.client.connect import open_client
from controller.runtime.client.decoding import Decoder, ObjectList
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.client.rest import LineStream
from controller.runtime.clock import SystemClock
from controller.wiring import PROGRAM_NAME
from tests.support.cluster.in_process_controller import (
    config_without_leader_election,
    new_controller,
)
from tests.support.cluster.isolated_installation import IsolatedInstallation

T = TypeVar("T", bound=Object)


class LaggingWatch:
    """A watch that holds its events back until `may_deliver` is set."""

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
    """The lists and watches of a client; watches of one kind lag until `catch_up`."""

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


class LaggingClient(Client):
    """A client whose watches of one kind lag until `catch_up`."""

    def __init__(self, client: Client, kind: Kind[Any]) -> None:
        super().__init__(client.rest, PROGRAM_NAME)
        self._kind = kind
        self._may_deliver = asyncio.Event()

    def catch_up(self) -> None:
        self._may_deliver.set()

    async def watch(
        self, kind: Kind[T], namespace: str, query: Query, *, idle_timeout: float
    ) -> LineStream:
        events = await super().watch(kind, namespace, query, idle_timeout=idle_timeout)
        if kind != self._kind:
            return events
        return cast(LineStream, LaggingWatch(events, self._may_deliver))


@asynccontextmanager
async def run_lagging_controller(
    installation: IsolatedInstallation, kind: Kind[Any], **changes: Any
) -> AsyncIterator[LaggingClient]:
    """Run a controller alone, with lagging watches, for the length of the block."""
    registry, clock, stop = CollectorRegistry(), SystemClock(), asyncio.Event()
    async with (
        open_client(str(installation.kubeconfig), PROGRAM_NAME, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        lagging_client = LaggingClient(client, kind)
        config = config_without_leader_election(installation, **changes)
        manager = new_controller(lagging_client, registry, clock, config)
        group.create_task(manager.run(stop))
        try:
            yield lagging_client
        finally:
            lagging_client.catch_up()
            stop.set()
