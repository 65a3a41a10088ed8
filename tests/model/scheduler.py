"""Lets one waiting caller pass at a time, in an order that a seed decides."""

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any


class DeterministicScheduler:
    """Also the clock: time passes only when everybody sleeps."""

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
        gate = asyncio.get_running_loop().create_future()
        self._sleeping.append((self._seconds + seconds, gate))
        await gate

    async def wait_turn(self) -> None:
        """Wait for one's turn."""
        gate = asyncio.get_running_loop().create_future()
        self._waiting.append(gate)
        await gate

    async def run_until(self, future: "asyncio.Future[Any]", *, max_steps: int = 20_000) -> None:
        """Let callers pass until the future is done."""
        for _ in range(max_steps):
            await run_ready_tasks()
            if future.done():
                return
            self._release_one()
        raise AssertionError(f"nothing ended within {max_steps} steps")

    def _release_one(self) -> None:
        self._waiting = [gate for gate in self._waiting if not gate.done()]
        if self._waiting:
            chosen = self._waiting.pop(self._randomness.randrange(len(self._waiting)))
            chosen.set_result(None)
            return
        self._sleeping = [each for each in self._sleeping if not each[1].done()]
        if not self._sleeping:
            raise AssertionError("everybody waits for something that will not come")
        when, gate = min(self._sleeping, key=lambda each: each[0])
        self._sleeping.remove((when, gate))
        self._seconds = max(self._seconds, when)
        gate.set_result(None)


async def run_ready_tasks() -> None:
    """Until nobody can run but ourselves, which only the loop itself knows."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await asyncio.sleep(0)
    while ready:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0)
