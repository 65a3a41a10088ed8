"""A connection that dies with its process: at the nth write, before it is sent or after."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client
from controller.runtime.client.connect import open_client
from controller.runtime.client.rest import KubeRequest, LineStream, RestClient
from controller.runtime.clock import SystemClock
from controller.runtime.errors import UnreachableError
from controller.wiring import ManagerBuilder
from tests.support.cluster.in_process_controller import (
    FIELD_MANAGER,
    config_without_leader_election,
)
from tests.support.cluster.isolated_installation import IsolatedInstallation

T = TypeVar("T")


class CrashingRestClient:
    """Passes on what a RestClient does until its hour has come; from then on nobody answers.

    Writes of Events do not count: they are told by the way, and in no certain order.
    """

    def __init__(
        self,
        rest: RestClient,
        *,
        crash_at_write: int,
        after_sending: bool,
        is_counted: Callable[[str], bool] = bool,
    ) -> None:
        self._rest = rest
        self._writes_left = crash_at_write
        self._after_sending = after_sending
        self._is_counted = is_counted
        self.crashed = asyncio.Event()
        self.fatal_call = ""

    @property
    def server(self) -> str:
        return self._rest.server

    async def send(self, request: KubeRequest, **options: float) -> bytes:
        """One request, or the last."""
        if self.crashed.is_set():
            raise UnreachableError("the process is dead")
        if request.method == "GET" or "/events" in request.path:
            return await self._rest.send(request, **options)
        return await self.count_write(
            f"{request.method} {request.path}", lambda: self._rest.send(request, **options)
        )

    async def count_write(self, description: str, send: Callable[[], Awaitable[T]]) -> T:
        """One write of any kind, or the last."""
        if self._is_counted(description):
            self._writes_left -= 1
            if self._writes_left == 0:
                await self._crash(description, send)
        return await send()

    async def stream(self, request: KubeRequest, *, idle_timeout: float) -> LineStream:
        return await self._rest.stream(request, idle_timeout=idle_timeout)

    async def _crash(self, description: str, send: Callable[[], Awaitable[object]]) -> None:
        self.fatal_call = description
        if self._after_sending:
            await send()
        self.crashed.set()
        await asyncio.Event().wait()  # the process goes no further than this


@asynccontextmanager
async def run_crashing_controller(
    installation: IsolatedInstallation,
    *,
    crash_at_write: int,
    after_sending: bool,
    is_counted: Callable[[str], bool] = bool,
) -> AsyncIterator[CrashingRestClient]:
    """A controller that will die at that write; whatever it still has in hand ends with the block.

    Of some writes only, where not all count. It leads without an election: its successor would
    have to wait for the lease.
    """
    registry, clock = CollectorRegistry(), SystemClock()
    async with (
        open_client(str(installation.kubeconfig), FIELD_MANAGER, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        mortal = CrashingRestClient(
            client.rest,
            crash_at_write=crash_at_write,
            after_sending=after_sending,
            is_counted=is_counted,
        )
        dying = Client(cast(RestClient, mortal), FIELD_MANAGER)
        manager = ManagerBuilder(dying, registry, clock).build(
            config_without_leader_election(installation)
        )
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield mortal
        finally:
            process.cancel()
