"""A program in the test's own loop that is struck at its nth wait; if it dies, nothing of it runs.

A process that is killed does not unwind: no `finally` runs, and what it holds open is closed.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from functools import partial
from typing import Any, Final

ProgramCoroutine = Coroutine[Any, Any, Any]


class AwaitSide(Enum):
    """Which side of a wait."""

    SUSPENDED = auto()  # it has just begun: what was written last need not have left
    RESUMED = auto()  # it is over, and whoever waited does not know yet


class CrashingProgram:
    """Counts the waits of `counted` and of every task that it starts; wait number `at` is struck.

    The strike is death, unless another is given.
    """

    def __init__(
        self,
        counted: Callable[..., ProgramCoroutine],
        fault_at_await: int,
        side: AwaitSide,
        inject: Callable[[], None] | None = None,
    ) -> None:
        self._counted = counted
        self._fault_at_await = fault_at_await
        self._side = side
        self._inject = inject or self.crash
        self._await_counts = dict.fromkeys(AwaitSide, 0)
        self._transports: list[asyncio.Transport] = []
        self._frozen_futures: list[asyncio.Future[None]] = []
        self._is_cleaned_up = False
        self.has_crashed = False
        self.was_injected = asyncio.Event()

    @asynccontextmanager
    async def run(self, work: ProgramCoroutine) -> AsyncIterator["asyncio.Task[Any]"]:
        """Work for the length of the block, or until death; what is left of it ends after."""
        async with asyncio.TaskGroup() as group:
            before = _CURRENT_PROGRAM.set(self)
            process = group.create_task(work)
            _CURRENT_PROGRAM.reset(before)
            try:
                yield process
            finally:
                self._clean_up()
                process.cancel()

    def crash(self) -> None:
        """Go no further, and close what is open as the kernel does."""
        self.has_crashed = True
        for each in self._transports:
            each.abort()

    def register_transport(self, transport: asyncio.Transport) -> None:
        """It has opened a connection."""
        self._transports.append(transport)

    def record_await(self, side: AwaitSide) -> None:
        """A task of it has come to one side of a wait."""
        if self.has_crashed or not _IS_COUNTED.get():
            return
        self._await_counts[side] += 1
        if side is self._side and self._await_counts[side] == self._fault_at_await:
            self.was_injected.set()
            self._inject()

    def begin_task(self, work: ProgramCoroutine) -> None:
        """A task of it takes its first step."""
        if getattr(work, "cr_code", None) is self._counted.__code__:
            _IS_COUNTED.set(True)

    @property
    def is_frozen(self) -> bool:
        """Whether its tasks must not go on."""
        return self.has_crashed and not self._is_cleaned_up

    def freeze(self) -> Any:
        """What a task waits for that has died."""
        self._frozen_futures.append(asyncio.get_running_loop().create_future())
        return next(self._frozen_futures[-1].__await__())

    def _clean_up(self) -> None:
        self._is_cleaned_up = True
        for each in self._frozen_futures:
            if not each.done():
                each.set_result(None)


class TaskSteps(Coroutine[Any, Any, Any]):
    """The steps of one task of a program, as long as that lives; then it hears nothing."""

    def __init__(self, program: CrashingProgram, work: ProgramCoroutine) -> None:
        self._program = program
        self._work = work
        self._has_started = False
        self._was_frozen = False

    def send(self, value: Any) -> Any:
        """Go on with what has come."""
        return self._step(partial(self._work.send, value))

    def throw(self, *error: Any) -> Any:
        """Go on with what went wrong."""
        return self._step(partial(self._work.throw, *error))

    def close(self) -> None:
        """Unwind."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()

    def _step(self, step: Callable[[], Any]) -> Any:
        if self._has_started:
            self._program.record_await(AwaitSide.RESUMED)
        else:
            self._program.begin_task(self._work)
            self._has_started = True
        if self._program.is_frozen:
            self._was_frozen = True
            return self._program.freeze()
        if self._was_frozen:
            self._was_frozen = False
            step = partial(self._work.throw, asyncio.CancelledError())
        awaited = step()
        self._program.record_await(AwaitSide.SUSPENDED)
        return awaited


_CURRENT_PROGRAM: ContextVar[CrashingProgram | None] = ContextVar("program", default=None)
_IS_COUNTED: ContextVar[bool] = ContextVar("counts", default=False)


@contextmanager
def enable_crashes(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Within the block tasks and connections of this loop belong to the program that made them."""
    make_transport = loop._make_socket_transport  # type: ignore[attr-defined]

    def made(*given: Any, **more: Any) -> asyncio.Transport:
        transport: asyncio.Transport = make_transport(*given, **more)
        if program := _CURRENT_PROGRAM.get():
            program.register_transport(transport)
        return transport

    loop._make_socket_transport = made  # type: ignore[attr-defined]
    loop.set_task_factory(_task_factory)
    try:
        yield
    finally:
        loop.set_task_factory(None)
        loop._make_socket_transport = make_transport  # type: ignore[attr-defined]


def _task_factory(
    loop: asyncio.AbstractEventLoop, work: Any, **options: Any
) -> "asyncio.Task[Any]":
    program = _CURRENT_PROGRAM.get()
    return asyncio.Task(TaskSteps(program, work) if program else work, loop=loop, **options)


MAX_CONCURRENT_RUNS: Final = 20

ProgramRun = Callable[[int, AwaitSide], Coroutine[Any, Any, CrashingProgram]]


async def crash_at_every_await(run: ProgramRun) -> None:
    """A life for each wait and for each side of it, until one ends before its wait has come."""
    with enable_crashes(asyncio.get_running_loop()):
        for first in itertools.count(1, MAX_CONCURRENT_RUNS):
            came = await _run_batch(run, range(first, first + MAX_CONCURRENT_RUNS))
            assert any(came) or first > 1, "nothing waits any more: this finds nothing"
            if not all(came):
                return


async def _run_batch(run: ProgramRun, await_numbers: range) -> list[bool]:
    """Whether each life has come to its wait."""
    async with asyncio.TaskGroup() as group:
        lives = [group.create_task(run(at, moment)) for at in await_numbers for moment in AwaitSide]
    return [each.result().was_injected.is_set() for each in lives]
