"""The queue of a leading activator, whose writes count among those of its process."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from nats.aio.client import Client
from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

from controller.runtime.client.client import Client as KubeClient
from controller.runtime.client.connect import open_client
from controller.runtime.client.rest import RestClient
from controller.runtime.clock import Clock, SystemClock
from serverless.activator.config import Config
from serverless.activator.wiring import PROGRAM_NAME, ManagerBuilder, load_auth_secrets
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import UnavailableError
from serverless.nats.requests import JetStreamClient
from tests.support.cluster.in_process_activator import without_leader_election
from tests.support.faults.crashing_rest_client import CrashingRestClient

READ_SUBJECTS = ("$JS.API.STREAM.INFO.", "$JS.API.STREAM.MSG.GET.", "$JS.API.CONSUMER.LIST.")


class CrashingNATSConnection:
    """Passes on what is asked of a connection until the process dies."""

    def __init__(self, connection: QueueConnection, crashing_client: CrashingRestClient) -> None:
        self._connection = connection
        self._crashing_client = crashing_client

    @property
    def client(self) -> "CrashingNATSConnection":
        """Itself: what it does not know the live client does."""
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._live_client, name)

    async def request(self, subject: str, data: bytes, **options: Any) -> Msg:
        """One request, or the last."""
        if subject.startswith(READ_SUBJECTS):
            return await self._live_client.request(subject, data, **options)
        return await self._crashing_client.count_write(
            subject, lambda: self._live_client.request(subject, data, **options)
        )

    @property
    def _live_client(self) -> Client:
        if self._crashing_client.crashed.is_set():
            raise UnavailableError("the process is dead")
        return self._connection.client


class CrashingManagerBuilder(ManagerBuilder):
    """Puts an activator together whose leader dies at its writes to the queue, too."""

    def __init__(self, crashing_client: CrashingRestClient, *parts: Any) -> None:
        super().__init__(*parts)
        self._crashing_client = crashing_client

    def _leader_jetstream(
        self, connection: QueueConnection, fence: Callable[[], None]
    ) -> JetStreamClient:
        crashing = cast(QueueConnection, CrashingNATSConnection(connection, self._crashing_client))
        return super()._leader_jetstream(crashing, fence)


class CrashingSession:
    """Calls of the runtime API that count among the writes of a process, and die with it."""

    def __init__(self, session: aiohttp.ClientSession, crashing_client: CrashingRestClient) -> None:
        self._session = session
        self._crashing_client = crashing_client

    @asynccontextmanager
    async def request(
        self, method: str, url: str, **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One call, which has been answered whole."""

        async def send() -> aiohttp.ClientResponse:
            async with self._session.request(method, url, **options) as response:
                await response.read()
                return response

        yield await self._crashing_client.count_write(f"{method} {url}", send)


@asynccontextmanager
async def run_crashing_activator(
    config: Config,
    *,
    crash_at_write: int,
    after_sending: bool = True,
    count_nats_writes: bool = False,
    clock: Clock | None = None,
) -> AsyncIterator[CrashingRestClient]:
    """An activator without rivals that dies at that write to Kubernetes or to the API.

    Where its queue is mortal, what it writes there counts, too.
    """
    registry, clock = CollectorRegistry(), clock or SystemClock()
    async with (
        open_client(config.kubeconfig, PROGRAM_NAME, registry, clock) as client,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as group,
    ):
        mortal = CrashingRestClient(
            client.rest, crash_at_write=crash_at_write, after_sending=after_sending
        )
        dying = KubeClient(cast(RestClient, mortal), PROGRAM_NAME)
        calls = cast(aiohttp.ClientSession, CrashingSession(session, mortal))
        parts = (dying, calls, registry, clock)
        made = (
            CrashingManagerBuilder(mortal, *parts) if count_nats_writes else ManagerBuilder(*parts)
        )
        manager = made.build(without_leader_election(config), load_auth_secrets(config))
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield mortal
        finally:
            process.cancel()
