"""A controller that hears nothing new of one kind for as long as a test wants."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client, Query
from controller.runtime.client.connect import connected
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.client.rest import Stream
from controller.runtime.clock import SystemClock
from controller.wiring import Assembly
from tests.support.cluster.in_process_controller import FIELD_MANAGER, alone
from tests.support.cluster.isolated_installation import Site
from tests.support.faults.lagging_watch import LaggingWatch

T = TypeVar("T", bound=Object)


class LaggingClient(Client):
    """Its watches of `kind` lag until `catch_up`."""

    def __init__(self, client: Client, kind: Kind[Any]) -> None:
        super().__init__(client.rest, FIELD_MANAGER)
        self._kind = kind
        self._flowing = asyncio.Event()

    def catch_up(self) -> None:
        self._flowing.set()

    async def watch(self, kind: Kind[T], namespace: str, query: Query, *, silence: float) -> Stream:
        events = await super().watch(kind, namespace, query, silence=silence)
        if kind != self._kind:
            return events
        return cast(Stream, LaggingWatch(events, self._flowing))


@asynccontextmanager
async def lagging(site: Site, kind: Kind[Any], **changes: Any) -> AsyncIterator[LaggingClient]:
    """A controller without rivals for the length of the block."""
    registry, clock, stop = CollectorRegistry(), SystemClock(), asyncio.Event()
    async with (
        connected(str(site.kubeconfig), FIELD_MANAGER, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        late = LaggingClient(client, kind)
        manager = Assembly(late, registry, clock).manager(alone(site, **changes))
        group.create_task(manager.run(stop))
        try:
            yield late
        finally:
            late.catch_up()
            stop.set()
