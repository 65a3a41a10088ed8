"""How many invocations a worker runs at once, and who waits for that to change."""

import asyncio

from serverless.worker.clock import RecordClock


class Slots:
    """Counts what runs; `changed` is set whenever the number changes, `idle` while it is 0."""

    def __init__(self, concurrency: int, clock: RecordClock) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._last_active = clock.now_ms()
        self.running = 0
        self.changed = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self._has_free = asyncio.Event()
        self._has_free.set()

    @property
    def free(self) -> int:
        """How many more may run."""
        return self._concurrency - self.running

    @property
    def last_active(self) -> int:
        """When anything ran last, in milliseconds since 1970; at first, when we began."""
        return self._clock.now_ms() if self.running else self._last_active

    async def wait_for_free(self) -> int:
        """How many are free, once any is."""
        await self._has_free.wait()
        return self.free

    def acquire(self) -> None:
        """One more runs."""
        self.running += 1
        self._notify()

    def release(self) -> None:
        """One has ended."""
        self.running -= 1
        self._last_active = self._clock.now_ms()
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        for event, holds in ((self.idle, self.running == 0), (self._has_free, self.free > 0)):
            if holds:
                event.set()
            else:
                event.clear()
