"""A scheduler that lets one waiting task continue at a time, in an order that a seed decides."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any


class DeterministicScheduler:
    """The order of calls, and a clock on which time passes only when all tasks sleep."""

    def __init__(self, randomness: Random) -> None:
        self._randomness = randomness
        self._waiting: list[asyncio.Future[None]] = []
        self._sleeping: list[tuple[float, asyncio.Future[None]]] = []
        self._seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._seconds)

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        wakeup = asyncio.get_running_loop().create_future()
        self._sleeping.append((self._seconds + seconds, wakeup))
        await wakeup

    async def wait_turn(self) -> None:
        """Wait until the scheduler lets this task continue."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        await turn

    async def run_until(self, future: "asyncio.Future[Any]", *, max_steps: int = 20_000) -> None:
        """Let tasks continue one by one until the future is done."""
        for _ in range(max_steps):
            await run_ready_tasks()
            if future.done():
                return
            self._release_one()
        raise AssertionError(f"not done within {max_steps} steps")

    def _release_one(self) -> None:
        self._waiting = [turn for turn in self._waiting if not turn.done()]
        if self._waiting:
            chosen = self._waiting.pop(self._randomness.randrange(len(self._waiting)))
            chosen.set_result(None)
            return
        self._sleeping = [sleeper for sleeper in self._sleeping if not sleeper[1].done()]
        if not self._sleeping:
            raise AssertionError("all tasks wait for an event that cannot happen")
        when, wakeup = min(self._sleeping, key=lambda sleeper: sleeper[0])
        self._sleeping.remove((when, wakeup))
        self._seconds = max(self._seconds, when)
        wakeup.set_result(None)


async def run_ready_tasks() -> None:
    """Run until no other task is ready, which only the loop itself knows."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0)
