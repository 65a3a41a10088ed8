"""Cancellation of tasks that wait for the queue, also at the moment when an answer arrives."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Final

import pytest

from hack.cluster.nats_server import NATSServer
from tests.support.queue.function_harness import new_function_harness
from tests.support.queue.nats_users import NATS_USERS, AsyncCall
from tests.support.wait.eventually import eventually

PATIENCE: Final = 20.0


class CancelWithAnswer:
    """A fault that cancels a task when its nth awaited answer arrives, before the task resumes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left = 0
        self._task: asyncio.Task[object] | None = None
        self._release = asyncio.tasks._release_waiter  # type: ignore[attr-defined]
        monkeypatch.setattr(asyncio.tasks, "_release_waiter", self._released)

    @property
    def has_struck(self) -> bool:
        return self._left <= 0

    async def befalls(
        self, step: AsyncCall, moment: int, is_over: Callable[[], bool] = lambda: False
    ) -> bool:
        """Return whether the step reached that moment before its end; require that it has ended."""
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
def cancel_with_answer(monkeypatch: pytest.MonkeyPatch) -> CancelWithAnswer:
    return CancelWithAnswer(monkeypatch)


@pytest.mark.parametrize("program", NATS_USERS)
async def test_a_nats_connection_task_ends_although_its_cancellation_meets_an_answer(
    program: str, nats_server: NATSServer, cancel_with_answer: CancelWithAnswer
) -> None:
    for moment in itertools.count(1):
        desk = NATS_USERS[program](nats_server.admin_url)
        if not await cancel_with_answer.befalls(desk.run_connection, moment, desk.is_connected):
            break
    assert moment > 1, "a connect waits for no answer any more: this test finds nothing"


@pytest.mark.parametrize("program", NATS_USERS)
async def test_a_nats_request_task_ends_although_its_cancellation_meets_an_answer(
    program: str, nats_server: NATSServer, cancel_with_answer: CancelWithAnswer
) -> None:
    desk = NATS_USERS[program](nats_server.admin_url)
    async with new_function_harness(nats_server), desk.connected():
        for step in desk.calls.values():
            for moment in (1, 2, 3):
                assert await cancel_with_answer.befalls(again_and_again(step), moment)


def again_and_again(step: AsyncCall) -> AsyncCall:
    async def for_ever() -> None:
        while True:
            await step()

    return for_ever


def awaited(task: object) -> object:
    """Return the future that a task finally waits for, through the tasks that it awaits."""
    while isinstance(task, asyncio.Task):
        task = getattr(task, "_fut_waiter", None)
    return task
