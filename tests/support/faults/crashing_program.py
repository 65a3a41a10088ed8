"""A program in the test's own loop that is struck at its nth wait; if it dies, nothing of it runs.

A process that is killed does not unwind: no `finally` runs, and what it holds open is closed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from functools import partial
from typing import Any

Work = Coroutine[Any, Any, Any]


class Moment(Enum):
    """Which side of a wait."""

    ASLEEP = auto()  # it has just begun: what was written last need not have left
    AWAKE = auto()  # it is over, and whoever waited does not know yet


class MortalProgram:
    """Counts the waits of `counted` and of every task that it starts; wait number `at` is struck.

    The strike is death, unless another is given.
    """

    def __init__(
        self,
        counted: Callable[..., Work],
        at: int,
        moment: Moment,
        strike: Callable[[], None] | None = None,
    ) -> None:
        self._counted = counted
        self._at = at
        self._moment = moment
        self._strike = strike or self.die
        self._waits = dict.fromkeys(Moment, 0)
        self._transports: list[asyncio.Transport] = []
        self._graves: list[asyncio.Future[None]] = []
        self._is_buried = False
        self.is_dead = False
        self.struck = asyncio.Event()

    @asynccontextmanager
    async def running(self, work: Work) -> AsyncIterator["asyncio.Task[Any]"]:
        """Work for the length of the block, or until death; what is left of it ends after."""
        async with asyncio.TaskGroup() as group:
            before = _PROGRAM.set(self)
            process = group.create_task(work)
            _PROGRAM.reset(before)
            try:
                yield process
            finally:
                self._bury()
                process.cancel()

    def die(self) -> None:
        """Go no further, and close what is open as the kernel does."""
        self.is_dead = True
        for each in self._transports:
            each.abort()

    def holds(self, transport: asyncio.Transport) -> None:
        """It has opened a connection."""
        self._transports.append(transport)

    def passes(self, moment: Moment) -> None:
        """A task of it has come to one side of a wait."""
        if self.is_dead or not _COUNTS.get():
            return
        self._waits[moment] += 1
        if moment is self._moment and self._waits[moment] == self._at:
            self.struck.set()
            self._strike()

    def begins(self, work: Work) -> None:
        """A task of it takes its first step."""
        if getattr(work, "cr_code", None) is self._counted.__code__:
            _COUNTS.set(True)

    @property
    def is_at_rest(self) -> bool:
        """Whether its tasks must not go on."""
        return self.is_dead and not self._is_buried

    def grave(self) -> Any:
        """What a task waits for that has died."""
        self._graves.append(asyncio.get_running_loop().create_future())
        return next(self._graves[-1].__await__())

    def _bury(self) -> None:
        self._is_buried = True
        for each in self._graves:
            if not each.done():
                each.set_result(None)


class Steps(Coroutine[Any, Any, Any]):
    """The steps of one task of a program, as long as that lives; then it hears nothing."""

    def __init__(self, program: MortalProgram, work: Work) -> None:
        self._program = program
        self._work = work
        self._has_begun = False
        self._was_dead = False

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
        if self._has_begun:
            self._program.passes(Moment.AWAKE)
        else:
            self._program.begins(self._work)
            self._has_begun = True
        if self._program.is_at_rest:
            self._was_dead = True
            return self._program.grave()
        if self._was_dead:
            self._was_dead = False
            step = partial(self._work.throw, asyncio.CancelledError())
        awaited = step()
        self._program.passes(Moment.ASLEEP)
        return awaited


_PROGRAM: ContextVar[MortalProgram | None] = ContextVar("program", default=None)
_COUNTS: ContextVar[bool] = ContextVar("counts", default=False)


@contextmanager
def mortality(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """Within the block tasks and connections of this loop belong to the program that made them."""
    make_transport = loop._make_socket_transport  # type: ignore[attr-defined]

    def made(*given: Any, **more: Any) -> asyncio.Transport:
        transport: asyncio.Transport = make_transport(*given, **more)
        if program := _PROGRAM.get():
            program.holds(transport)
        return transport

    loop._make_socket_transport = made  # type: ignore[attr-defined]
    loop.set_task_factory(_task)
    try:
        yield
    finally:
        loop.set_task_factory(None)
        loop._make_socket_transport = make_transport  # type: ignore[attr-defined]


def _task(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> "asyncio.Task[Any]":
    program = _PROGRAM.get()
    return asyncio.Task(Steps(program, work) if program else work, loop=loop, **options)
