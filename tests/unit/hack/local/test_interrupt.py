"""Tests of Ctrl-C during `make up`, also where Python drops an exception of a signal handler."""

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine, Iterator

import pytest

from hack.local.interrupt import InterruptHandler


@pytest.fixture
def interruption() -> Iterator[InterruptHandler]:
    """Install the SIGINT handler for the length of the test."""
    handler = InterruptHandler()
    before = signal.signal(signal.SIGINT, handler)
    yield handler
    signal.signal(signal.SIGINT, before)


class Finalised:
    """Object whose finalizer raises the signal."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


async def in_a_finaliser() -> None:
    Finalised()
    await asyncio.Event().wait()


async def in_the_work() -> None:
    signal.raise_signal(signal.SIGINT)
    await asyncio.Event().wait()


async def in_a_finaliser_at_the_end() -> None:
    Finalised()


async def while_it_waits() -> None:
    asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
    await asyncio.Event().wait()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "work", [in_a_finaliser, in_a_finaliser_at_the_end, in_the_work, while_it_waits]
)
def test_a_signal_raises_keyboard_interrupt(
    interruption: InterruptHandler,
    work: Callable[[], Coroutine[None, None, None]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(KeyboardInterrupt):
        interruption.run(work())
    gc.collect()  # asyncio logs an exception that was never retrieved when its task is collected
    assert not caplog.messages


def test_interrupted_work_runs_its_clean_up(interruption: InterruptHandler) -> None:
    ended = []

    async def work() -> None:
        try:
            await while_it_waits()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        interruption.run(work())
    assert ended


def test_work_without_a_signal_runs_to_its_end(interruption: InterruptHandler) -> None:
    done = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append(True)

    interruption.run(work())
    assert done


def test_work_that_is_cancelled_without_a_signal_is_not_interrupted(
    interruption: InterruptHandler,
) -> None:
    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(asyncio.sleep(60))
            await asyncio.sleep(0)
            task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        interruption.run(work())
