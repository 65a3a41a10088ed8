"""The NATS clients of each program: API, activator and worker."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from nats.aio.client import Client

from apiserver.circuit_breaker import CircuitBreaker
from apiserver.clock import SystemClock as ApiClock
from apiserver.config import NATSConfig
from apiserver.nats.batches import BatchReader
from apiserver.nats.connection import QueueConnection as ApiConnection
from apiserver.nats.requests import JetStreamRequests
from controller.runtime.clock import SystemClock
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import NATSCredentials
from serverless.nats.requests import JetStreamClient
from serverless.worker.intervals import Intervals
from serverless.worker.nats_connection import worker_connection
from shared.invocation.queue_names import QueueNames
from tests.support.wait.eventually import eventually

AsyncCall = Callable[[], Coroutine[Any, Any, object]]

RECORDS_STREAM: Final = f"KV_{QueueNames().record_bucket}"


class NATSUser:
    """The client of one program: the task that keeps its connection, and the calls on it."""

    def __init__(
        self,
        run_connection: AsyncCall,
        current_client: Callable[[], Client | None],
        **calls: AsyncCall,
    ) -> None:
        self.run_connection = run_connection
        self.current_client = current_client
        self.calls = calls

    def is_connected(self) -> bool:
        """Return whether calls can be sent now."""
        client = self.current_client()
        return client is not None and client.is_connected

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["asyncio.Task[object]"]:
        """Keep the client connected for the length of the block; yield the connection's task."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.run_connection())
            await eventually(lambda: asyncio.sleep(0, self.is_connected()))
            yield task
            task.cancel()


def api_nats_user(url: str) -> NATSUser:
    """Return the client of the API."""
    connection = ApiConnection(NATSConfig(url=url), ApiClock())
    requests = JetStreamRequests(connection, CircuitBreaker(ApiClock()))
    return NATSUser(
        connection.run,
        lambda: connection.client,
        ask=lambda: requests.request(f"$JS.API.STREAM.INFO.{RECORDS_STREAM}"),
        read=lambda: BatchReader(requests).read(RECORDS_STREAM, ">", 1, 1),
    )


def activator_nats_user(url: str) -> NATSUser:
    """Return the client of the activator."""
    connection = QueueConnection(lambda: NATSCredentials(url), "tests", SystemClock())
    jetstream = JetStreamClient(connection)
    return NATSUser(
        connection.run,
        lambda: connection._client,
        ask=lambda: jetstream.call_api(f"STREAM.INFO.{RECORDS_STREAM}"),
        read=lambda: jetstream.read_page(RECORDS_STREAM, ">", 1, 1, 1024),
    )


def worker_nats_user(url: str) -> NATSUser:
    """Return the client of a worker."""
    connection = worker_connection(lambda: NATSCredentials(url), Intervals(), SystemClock())
    queue = JetStreamClient(connection)
    return NATSUser(
        connection.run,
        lambda: connection._client,
        ask=lambda: queue.get_next_direct(RECORDS_STREAM, ">", 1),
    )


NATS_USERS: Final = {
    "api": api_nats_user,
    "activator": activator_nats_user,
    "worker": worker_nats_user,
}
