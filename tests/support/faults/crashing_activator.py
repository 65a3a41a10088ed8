"""An activator whose process crashes at its nth write to Kubernetes, the API or the queue."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import aiohttp
from nats.aio.client import Client
from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

from controller.runtime import Client as KubeClient
from controller.runtime import SystemClock, TimerClock
from controller.runtime.client.connect import open_client
from controller.runtime.client.rest import RestClient
from serverless.activator.config import Config
from serverless.activator.wiring import PROGRAM_NAME, ActivatorWiring, load_auth_secrets
from serverless.nats.connection import QueueConnection
from serverless.nats.errors import UnavailableError
from serverless.nats.requests import JetStreamClient
from tests.support.cluster.in_process_activator import new_manager, without_leader_election
from tests.support.faults.crashing_rest_client import CrashingRestClient

READ_SUBJECTS = ("$JS.API.STREAM.INFO.", "$JS.API.STREAM.MSG.GET.", "$JS.API.CONSUMER.LIST.")


class CrashingNATSConnection:
    """A connection to the queue that counts its writes, until the process crashes."""

    def __init__(self, connection: QueueConnection, crashing_client: CrashingRestClient) -> None:
        self._connection = connection
        self._crashing_client = crashing_client

    @property
    def client(self) -> "CrashingNATSConnection":
        """Return this object, which forwards unknown attributes to the real client."""
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real_client, name)

    async def request(self, subject: str, data: bytes, **options: Any) -> Msg:
        """Send a request; writes count, reads do not."""
        if subject.startswith(READ_SUBJECTS):
            return await self._real_client.request(subject, data, **options)
        return await self._crashing_client.count_write(
            subject, lambda: self._real_client.request(subject, data, **options)
        )

    @property
    def _real_client(self) -> Client:
        if self._crashing_client.crashed.is_set():
            raise UnavailableError("the process has crashed")
        return self._connection.client


class CrashingActivatorWiring(ActivatorWiring):
    """Declares an activator whose leader also counts its writes to the queue."""

    def __init__(self, crashing_client: CrashingRestClient, *parts: Any) -> None:
        super().__init__(*parts)
        self._crashing_client = crashing_client

    def _leader_jetstream(self, connection: QueueConnection) -> JetStreamClient:
        crashing = cast(QueueConnection, CrashingNATSConnection(connection, self._crashing_client))
        return super()._leader_jetstream(crashing)


class CrashingSession:
    """An HTTP session whose calls of the runtime API count as writes of a crashing process."""

    def __init__(self, session: aiohttp.ClientSession, crashing_client: CrashingRestClient) -> None:
        self._session = session
        self._crashing_client = crashing_client

    @asynccontextmanager
    async def request(
        self, method: str, url: str, **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request, and read its response completely."""

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
    clock: TimerClock | None = None,
) -> AsyncIterator[CrashingRestClient]:
    """Run an activator alone that crashes at write number `crash_at_write`.

    Writes to Kubernetes and to the API count; with `count_nats_writes`, those to the queue as well.
    """
    registry, clock = CollectorRegistry(), clock or SystemClock()
    async with (
        open_client(config.kubeconfig, PROGRAM_NAME, registry, clock) as client,
        aiohttp.ClientSession() as session,
        asyncio.TaskGroup() as group,
    ):
        crashing = CrashingRestClient(
            client.rest, crash_at_write=crash_at_write, after_sending=after_sending
        )
        crashing_client = KubeClient(cast(RestClient, crashing), PROGRAM_NAME)
        crashing_session = cast(aiohttp.ClientSession, CrashingSession(session, crashing))
        alone = without_leader_election(config)
        manager = new_manager(crashing_client, registry, clock, alone)
        parts = (manager, crashing_session, alone, load_auth_secrets(alone))
        wiring = (
            CrashingActivatorWiring(crashing, *parts)
            if count_nats_writes
            else ActivatorWiring(*parts)
        )
        wiring.declare()
        process = group.create_task(manager.run(asyncio.Event()))
        try:
            yield crashing
        finally:
            process.cancel()
