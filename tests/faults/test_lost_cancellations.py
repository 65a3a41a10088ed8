"""A task that talks to the queue ends when it is told to, also together with an answer."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from apiserver.breaker import Breaker
from apiserver.clock import SystemClock as ApiClock
from apiserver.config import NATSConfig
from apiserver.jetstream.batches import BatchReader
from apiserver.jetstream.caller import Caller
from apiserver.queue import QueueConnection as ApiConnection
from controller.runtime.clock import SystemClock
from hack.cluster.queue import QueueServer
from serverless.queue.config import QueueConfig
from serverless.queue.connection import QueueConnection
from serverless.queue.jetstream import JetStream
from serverless.worker.access import Access
from serverless.worker.connection import Connection
from serverless.worker.pace import Pace
from serverless.worker.queue import Queue
from shared.invocation.queue_names import QueueNames
from tests.support.eventually import eventually
from tests.support.function_world import new_world

Step = Callable[[], Coroutine[Any, Any, object]]

RECORDS: Final = f"KV_{QueueNames().record_bucket}"
PATIENCE: Final = 20.0


class Desk:
    """One program's way to the queue: what keeps its connection, and what asks on it."""

    def __init__(self, connect: Step, is_connected: Callable[[], bool], **asking: Step) -> None:
        self.connect = connect
        self.is_connected = is_connected
        self.asking = asking

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self.connect())
            await eventually(lambda: asyncio.sleep(0, self.is_connected()))
            yield
            keeping.cancel()


def of_the_api(url: str) -> Desk:
    connection = ApiConnection(NATSConfig(url=url), ApiClock())
    caller = Caller(connection, Breaker(ApiClock()))
    return Desk(
        connection.run,
        lambda: connection.link.connected,
        ask=lambda: caller.ask(f"$JS.API.STREAM.INFO.{RECORDS}"),
        read=lambda: BatchReader(caller).read(RECORDS, ">", 1, 1),
    )


def of_the_activator(url: str) -> Desk:
    connection = QueueConnection(QueueConfig(url=url), "tests", SystemClock())
    jetstream = JetStream(connection)
    return Desk(
        connection.run,
        lambda: not connection.not_ready(),
        ask=lambda: jetstream.ask(f"STREAM.INFO.{RECORDS}"),
        read=lambda: jetstream.page(RECORDS, ">", 1, 1, 1024),
    )


def of_a_worker(url: str) -> Desk:
    queue = Queue(QueueNames())
    connection = Connection(queue, lambda: Access(url), Pace())
    return Desk(
        lambda: connection.run({}, lambda: None),
        lambda: queue.is_connected,
        ask=lambda: queue.read_next(RECORDS, ">", 1),
    )


DESKS: Final = {"api": of_the_api, "activator": of_the_activator, "worker": of_a_worker}


class Misfortune:
    """Cancels a task once the n-th answer that it waits for has come, before it hears of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = 0
        self._task: asyncio.Task[object] | None = None
        self._release = asyncio.tasks._release_waiter  # type: ignore[attr-defined]
        monkeypatch.setattr(asyncio.tasks, "_release_waiter", self._released)

    @property
    def has_struck(self) -> bool:
        return self._left <= 0

    async def befalls(
        self, step: Step, moment: int, is_over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Whether the step came to that moment before it was over; it must have ended then."""
        async with asyncio.TaskGroup() as group:
            self._left = moment
            self._task = group.create_task(step())
            await eventually(lambda: asyncio.sleep(0, self.has_struck or is_over()))
            struck = self.has_struck
            if not struck:
                self._task.cancel()
            _, running = await asyncio.wait([self._task], timeout=PATIENCE)
            assert not running, f"cancelled together with answer {moment}, it goes on for ever"
            return struck

    def _released(self, waiter: object, *more: object) -> None:
        if self._task is not None and awaited(self._task) is waiter:
            self._left -= 1
            if self._left == 0:
                self._task.cancel()
        self._release(waiter, *more)


@pytest.fixture
def misfortune(monkeypatch: pytest.MonkeyPatch) -> Misfortune:
    return Misfortune(monkeypatch)


@pytest.mark.parametrize("program", DESKS)
async def test_a_connection_ends_when_it_is_told_to(
    program: str, queue_server: QueueServer, misfortune: Misfortune
) -> None:
    for moment in itertools.count(1):
        desk = DESKS[program](queue_server.admin_url)
        if not await misfortune.befalls(desk.connect, moment, desk.is_connected):
            break
    assert moment > 1, "a connect waits for no answer any more: this test finds nothing"


@pytest.mark.parametrize("program", DESKS)
async def test_a_request_ends_when_it_is_told_to(
    program: str, queue_server: QueueServer, misfortune: Misfortune
) -> None:
    desk = DESKS[program](queue_server.admin_url)
    async with new_world(queue_server), desk.connected():
        for step in desk.asking.values():
            for moment in (1, 2, 3):
                assert await misfortune.befalls(again_and_again(step), moment)


def again_and_again(step: Step) -> Step:
    async def for_ever() -> None:
        while True:
            await step()

    return for_ever


def awaited(task: object) -> object:
    """What a task waits for in the end, through the tasks that it waits for."""
    while isinstance(task, asyncio.Task):
        task = getattr(task, "_fut_waiter", None)
    return task
