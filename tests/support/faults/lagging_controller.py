"""A controller that hears nothing new of one kind for as long as a test wants."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client, Query
from controller.runtime.client.connect import open_client
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.client.rest import LineStream
from controller.runtime.clock import SystemClock
from controller.wiring import ManagerBuilder
from tests.support.cluster.in_process_controller import (
    FIELD_MANAGER,
    config_without_leader_election,
)
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.faults.lagging_watch import LaggingWatch

T = TypeVar("T", bound=Object)


class LaggingClient(Client):
    """Its watches of `kind` lag until `catch_up`."""

    def __init__(self, client: Client, kind: Kind[Any]) -> None:
        super().__init__(client.rest, FIELD_MANAGER)
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
    """A controller without rivals for the length of the block."""
    registry, clock, stop = CollectorRegistry(), SystemClock(), asyncio.Event()
    async with (
        open_client(str(installation.kubeconfig), FIELD_MANAGER, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        late = LaggingClient(client, kind)
        manager = ManagerBuilder(late, registry, clock).build(
            config_without_leader_election(installation, **changes)
        )
        group.create_task(manager.run(stop))
        try:
            yield late
        finally:
            late.catch_up()
            stop.set()
