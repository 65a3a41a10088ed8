"""A clock that moves only when a test moves it."""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

# Turns of the event loop before time moves on, so that woken tasks have run.
LOOP_TURNS = 20


class VirtualTimer:
    """A call that is due later on a virtual clock."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self._call = None

    def fire(self) -> None:
        if self._call is not None:
            self._call()


class VirtualClock:
    """A clock whose sleepers and timers wake in order, and only inside `advance`."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._timers: list[tuple[float, int, VirtualTimer]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        return datetime(2026, 11, 16, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        return self._seconds

    def call_at(self, when: float, call: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(call)
        heapq.heappush(self._timers, (when, next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.Event()
        self.call_at(self._seconds + seconds, woken.set)
        await woken.wait()

    async def advance(self, seconds: float) -> None:
        """Move time forward by `seconds`; tasks that wake run before time moves on."""
        end = self._seconds + seconds
        await run_ready_tasks()
        while self._timers and self._timers[0][0] <= end:
            when, _, timer = heapq.heappop(self._timers)
            self._seconds = max(self._seconds, when)
            timer.fire()
            await run_ready_tasks()
        self._seconds = end
        await run_ready_tasks()

    def advance_timers(self, seconds: float) -> None:
        """Move time forward without an event loop; timers run in order before this returns."""
        end = self._seconds + seconds
        while self._timers and self._timers[0][0] <= end:
            when, _, timer = heapq.heappop(self._timers)
            self._seconds = max(self._seconds, when)
            timer.fire()
        self._seconds = end


async def run_ready_tasks() -> None:
    """Let all tasks that are ready run."""
    for _ in range(LOOP_TURNS):
        await asyncio.sleep(0)
