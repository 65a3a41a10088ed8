"""How each program that talks to the queue is connected to it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from nats.aio.client import Client

from apiserver.circuit_breaker import Breaker
from apiserver.clock import SystemClock as ApiClock
from apiserver.config import NATSConfig
from apiserver.nats.batches import BatchReader
from apiserver.nats.connection import QueueConnection as ApiConnection
from apiserver.nats.requests import Caller
from controller.runtime.clock import SystemClock
from serverless.nats.config import QueueConfig
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import Access
from serverless.nats.requests import JetStream
from serverless.worker.connection import Connection
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from shared.invocation.queue_names import QueueNames
from tests.support.wait.eventually import eventually

Step = Callable[[], Coroutine[Any, Any, object]]

RECORDS: Final = f"KV_{QueueNames().record_bucket}"


class Desk:
    """One program's way to the queue: what keeps its connection, and what asks on it."""

    def __init__(self, connect: Step, client: Callable[[], Client | None], **asking: Step) -> None:
        self.connect = connect
        self.client = client
        self.asking = asking

    def is_connected(self) -> bool:
        """Whether anything can be asked now."""
        client = self.client()
        return client is not None and client.is_connected

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["asyncio.Task[object]"]:
        """What keeps it connected, for the length of the block."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self.connect())
            await eventually(lambda: asyncio.sleep(0, self.is_connected()))
            yield keeping
            keeping.cancel()


def of_the_api(url: str) -> Desk:
    """The way of the API."""
    connection = ApiConnection(NATSConfig(url=url), ApiClock())
    caller = Caller(connection, Breaker(ApiClock()))
    return Desk(
        connection.run,
        lambda: connection.client,
        ask=lambda: caller.ask(f"$JS.API.STREAM.INFO.{RECORDS}"),
        read=lambda: BatchReader(caller).read(RECORDS, ">", 1, 1),
    )


def of_the_activator(url: str) -> Desk:
    """The way of the activator."""
    connection = QueueConnection(QueueConfig(url=url), "tests", SystemClock())
    jetstream = JetStream(connection)
    return Desk(
        connection.run,
        lambda: connection._client,
        ask=lambda: jetstream.ask(f"STREAM.INFO.{RECORDS}"),
        read=lambda: jetstream.page(RECORDS, ">", 1, 1, 1024),
    )


def of_a_worker(url: str) -> Desk:
    """The way of a worker."""
    queue = Queue(QueueNames())
    connection = Connection(queue, lambda: Access(url), Pace())
    return Desk(
        lambda: connection.run({}, lambda: None),
        lambda: queue._client,
        ask=lambda: queue.read_next(RECORDS, ">", 1),
    )


DESKS: Final = {"api": of_the_api, "activator": of_the_activator, "worker": of_a_worker}
