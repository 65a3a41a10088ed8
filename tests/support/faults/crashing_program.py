"""A program in the test's event loop that crashes at its nth await; then all its tasks stop.

A killed process does not unwind: no `finally` runs, and its connections are closed.
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
    """The two sides of an await."""

    SUSPENDED = auto()  # the await has begun: the last write may not have been sent yet
    RESUMED = auto()  # the await has ended, and its task has not continued yet


class CrashingProgram:
    """A program that counts the awaits of `counted` and its tasks, and injects a fault at one.

    The fault is a crash, unless `inject` is given.
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
        """Run a coroutine until the block ends or the program crashes, then clean up its tasks."""
        async with asyncio.TaskGroup() as group:
            token = _CURRENT_PROGRAM.set(self)
            process = group.create_task(work)
            _CURRENT_PROGRAM.reset(token)
            try:
                yield process
            finally:
                self._clean_up()
                process.cancel()

    def crash(self) -> None:
        """Freeze the program, and close its connections as the kernel does."""
        self.has_crashed = True
        for transport in self._transports:
            transport.abort()

    def register_transport(self, transport: asyncio.Transport) -> None:
        """Remember a connection that the program has opened."""
        self._transports.append(transport)

    def record_await(self, side: AwaitSide) -> None:
        """Count one side of an await of a task, and inject the fault when it is due."""
        if self.has_crashed or not _IS_COUNTED.get():
            return
        self._await_counts[side] += 1
        if side is self._side and self._await_counts[side] == self._fault_at_await:
            self.was_injected.set()
            self._inject()

    def begin_task(self, work: ProgramCoroutine) -> None:
        """Count the awaits of a task from its first step on if it runs `counted`."""
        if getattr(work, "cr_code", None) is self._counted.__code__:
            _IS_COUNTED.set(True)

    @property
    def is_frozen(self) -> bool:
        """Return whether the program has crashed and is not cleaned up yet."""
        return self.has_crashed and not self._is_cleaned_up

    def freeze(self) -> Any:
        """Return a future for a crashed task to wait for."""
        self._frozen_futures.append(asyncio.get_running_loop().create_future())
        return next(self._frozen_futures[-1].__await__())

    def _clean_up(self) -> None:
        self._is_cleaned_up = True
        for future in self._frozen_futures:
            if not future.done():
                future.set_result(None)


class TaskSteps(Coroutine[Any, Any, Any]):
    """The steps of one task of a program; after a crash they stop."""

    def __init__(self, program: CrashingProgram, work: ProgramCoroutine) -> None:
        self._program = program
        self._work = work
        self._has_started = False
        self._was_frozen = False

    def send(self, value: Any) -> Any:
        """Resume the task with a value."""
        return self._step(partial(self._work.send, value))

    def throw(self, *error: Any) -> Any:
        """Resume the task with an exception."""
        return self._step(partial(self._work.throw, *error))

    def close(self) -> None:
        """Unwind the task."""
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
    """Let new tasks and connections of this loop belong to the current program, in the block."""
    make_transport = loop._make_socket_transport  # type: ignore[attr-defined]

    def register(*arguments: Any, **options: Any) -> asyncio.Transport:
        transport: asyncio.Transport = make_transport(*arguments, **options)
        if program := _CURRENT_PROGRAM.get():
            program.register_transport(transport)
        return transport

    loop._make_socket_transport = register  # type: ignore[attr-defined]
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
    """Run a program once for each await and each side of it, until a run ends before its await."""
    with enable_crashes(asyncio.get_running_loop()):
        for first in itertools.count(1, MAX_CONCURRENT_RUNS):
            injected = await _run_batch(run, range(first, first + MAX_CONCURRENT_RUNS))
            assert any(injected) or first > 1, "no await was reached, so nothing was tested"
            if not all(injected):
                return


async def _run_batch(run: ProgramRun, await_numbers: range) -> list[bool]:
    """Return for each run whether it has reached its await."""
    async with asyncio.TaskGroup() as group:
        runs = [group.create_task(run(at, side)) for at in await_numbers for side in AwaitSide]
    return [run_task.result().was_injected.is_set() for run_task in runs]
