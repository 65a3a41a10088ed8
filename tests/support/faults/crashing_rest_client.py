"""A connection that dies with its process: at the nth write, before it is sent or after."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client
from controller.runtime.client.connect import connected
from controller.runtime.client.rest import Call, RestClient, Stream
from controller.runtime.clock import SystemClock
from controller.runtime.errors import UnreachableError
from controller.wiring import Assembly
from tests.support.cluster.in_process_controller import FIELD_MANAGER, alone
from tests.support.cluster.isolated_installation import Site

T = TypeVar("T")


class Mortal:
    """Passes on what a RestClient does until its hour has come; from then on nobody answers.

    Writes of Events do not count: they are told by the way, and in no certain order.
    """

    def __init__(
        self,
        rest: RestClient,
        *,
        dies_at: int,
        after_sending: bool,
        counts: Callable[[str], bool] = bool,
    ) -> None:
        self._rest = rest
        self._left = dies_at
        self._after_sending = after_sending
        self._counts = counts
        self.died = asyncio.Event()
        self.last_call = ""

    @property
    def server(self) -> str:
        return self._rest.server

    async def send(self, call: Call, **options: float) -> bytes:
        """One request, or the last."""
        if self.died.is_set():
            raise UnreachableError("the process is dead")
        if call.method == "GET" or "/events" in call.path:
            return await self._rest.send(call, **options)
        return await self.write(
            f"{call.method} {call.path}", lambda: self._rest.send(call, **options)
        )

    async def write(self, what: str, send: Callable[[], Awaitable[T]]) -> T:
        """One write of any kind, or the last."""
        if self._counts(what):
            self._left -= 1
            if self._left == 0:
                await self._die(what, send)
        return await send()

    async def stream(self, call: Call, *, silence: float) -> Stream:
        return await self._rest.stream(call, silence=silence)

    async def _die(self, what: str, send: Callable[[], Awaitable[object]]) -> None:
        self.last_call = what
        if self._after_sending:
            await send()
        self.died.set()
        await asyncio.Event().wait()  # the process goes no further than this


@asynccontextmanager
async def doomed(
    site: Site, *, dies_at: int, after_sending: bool, counts: Callable[[str], bool] = bool
) -> AsyncIterator[Mortal]:
    """A controller that will die at that write; whatever it still has in hand ends with the block.

    Of some writes only, where not all count. It leads without an election: its successor would
    have to wait for the lease.
    """
    registry, clock = CollectorRegistry(), SystemClock()
    async with (
        connected(str(site.kubeconfig), FIELD_MANAGER, registry, clock) as client,
        asyncio.TaskGroup() as group,
    ):
        mortal = Mortal(client.rest, dies_at=dies_at, after_sending=after_sending, counts=counts)
        dying = Client(cast(RestClient, mortal), FIELD_MANAGER)
        manager = Assembly(dying, registry, clock).manager(alone(site))
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield mortal
        finally:
            process.cancel()
