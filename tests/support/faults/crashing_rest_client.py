"""A client of Kubernetes that crashes at its nth write, before or after sending it."""

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
from controller.wiring import PROGRAM_NAME
from tests.support.cluster.in_process_controller import (
    config_without_leader_election,
    new_controller,
)
from tests.support.cluster.isolated_installation import IsolatedInstallation

T = TypeVar("T")


class CrashingRestClient:
    """A client that forwards requests until the crash; later requests raise UnreachableError.

    Writes of Events do not count, because their order is not deterministic.
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
        """Send a request; writes count, reads do not."""
        if self.crashed.is_set():
            raise UnreachableError("the process has crashed")
        if request.method == "GET" or "/events" in request.path:
            return await self._rest.send(request, **options)
        return await self.count_write(
            f"{request.method} {request.path}", lambda: self._rest.send(request, **options)
        )

    async def count_write(self, description: str, send: Callable[[], Awaitable[T]]) -> T:
        """Count a write of any kind and send it, or crash at it."""
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
        await asyncio.Event().wait()  # a crashed process does not continue


@asynccontextmanager
async def run_crashing_controller(
    installation: IsolatedInstallation,
    *,
    crash_at_write: int,
    after_sending: bool,
    is_counted: Callable[[str], bool] = bool,
) -> AsyncIterator[CrashingRestClient]:
    """Run a controller that crashes at write number `crash_at_write`, for the length of the block.

    `is_counted` selects the writes that count. The controller leads without an election: its
    successor would have to wait for the lease.
    """
    registry, clock = CollectorRegistry(), SystemClock()
    async with (
        open_client(str(installation.kubeconfig), PROGRAM_NAME, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        crashing = CrashingRestClient(
            client.rest,
            crash_at_write=crash_at_write,
            after_sending=after_sending,
            is_counted=is_counted,
        )
        crashing_client = Client(cast(RestClient, crashing), PROGRAM_NAME)
        config = config_without_leader_election(installation)
        manager = new_controller(crashing_client, registry, clock, config)
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield crashing
        finally:
            process.cancel()
