"""Cancellation of tasks that wait for NATS, also at the moment when a reply arrives."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Final

import pytest

from hack.cluster.nats_server import NATSServer
from tests.support.queue.function_harness import new_function_harness
from tests.support.queue.nats_users import NATS_USERS, AsyncCall
from tests.support.wait.eventually import eventually

TIMEOUT_SECONDS: Final = 20.0


class CancelWithReply:
    """A fault that cancels a task when its nth awaited reply arrives, before the task resumes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = 0
        self._task: asyncio.Task[object] | None = None
        self._release = asyncio.tasks._release_waiter  # type: ignore[attr-defined]
        monkeypatch.setattr(asyncio.tasks, "_release_waiter", self._released)

    @property
    def was_injected(self) -> bool:
        return self._left <= 0

    async def inject(
        self, call: AsyncCall, number: int, is_over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Return whether the call waited for that reply; require that its task ends."""
        async with asyncio.TaskGroup() as group:
            self._left = number
            self._task = group.create_task(call())
            await eventually(lambda: asyncio.sleep(0, self.was_injected or is_over()))
            was_injected = self.was_injected
            if not was_injected:
                self._task.cancel()
            _, running = await asyncio.wait([self._task], timeout=TIMEOUT_SECONDS)
            assert not running, f"cancelled together with reply {number}, but does not end"
            return was_injected

    def _released(self, waiter: object, *more: object) -> None:
        if self._task is not None and awaited_future(self._task) is waiter:
            self._left -= 1
            if self._left == 0:
                self._task.cancel()
        self._release(waiter, *more)


@pytest.fixture
def cancel_with_reply(monkeypatch: pytest.MonkeyPatch) -> CancelWithReply:
    return CancelWithReply(monkeypatch)


@pytest.mark.parametrize("program", NATS_USERS)
async def test_a_nats_connection_task_ends_if_it_is_cancelled_when_a_reply_arrives(
    program: str, nats_server: NATSServer, cancel_with_reply: CancelWithReply
) -> None:
    for number in itertools.count(1):
        user = NATS_USERS[program](nats_server.admin_url)
        if not await cancel_with_reply.inject(user.run_connection, number, user.is_connected):
            break
    assert number > 1, "a connect waits for no reply any more: this test finds nothing"


@pytest.mark.parametrize("program", NATS_USERS)
async def test_a_nats_request_task_ends_if_it_is_cancelled_when_a_reply_arrives(
    program: str, nats_server: NATSServer, cancel_with_reply: CancelWithReply
) -> None:
    user = NATS_USERS[program](nats_server.admin_url)
    async with new_function_harness(nats_server), user.connected():
        for call in user.calls.values():
            for number in (1, 2, 3):
                assert await cancel_with_reply.inject(repeated(call), number)


def repeated(call: AsyncCall) -> AsyncCall:
    async def repeat() -> None:
        while True:
            await call()

    return repeat


def awaited_future(task: object) -> object:
    """Return the future that a task finally waits for, through the tasks that it awaits."""
    while isinstance(task, asyncio.Task):
        task = getattr(task, "_fut_waiter", None)
    return task
