"""Counts the invocations that a worker runs at once."""

import asyncio

from shared.clock import Clock
from shared.time import now_ms


class Slots:
    """A counter: `changed` is set after each change of `running`, `idle` while it is 0."""

    def __init__(self, concurrency: int, clock: Clock) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._last_active = now_ms(clock)
        self.running = 0
        self.changed = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self._has_free = asyncio.Event()
        self._has_free.set()

    @property
    def free(self) -> int:
        """How many more invocations may run."""
        return self._concurrency - self.running

    @property
    def last_active(self) -> int:
        """When an invocation ran last, in milliseconds since 1970; at first, when we started."""
        return now_ms(self._clock) if self.running else self._last_active

    async def wait_for_free(self) -> int:
        """Wait for a free slot; return how many are free."""
        await self._has_free.wait()
        return self.free

    def acquire(self) -> None:
        """Count one more running invocation."""
        self.running += 1
        self._notify()

    def release(self) -> None:
        """Count one running invocation less."""
        self.running -= 1
        self._last_active = now_ms(self._clock)
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        for event, is_set in ((self.idle, self.running == 0), (self._has_free, self.free > 0)):
            if is_set:
                event.set()
            else:
                event.clear()
