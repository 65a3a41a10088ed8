"""How many invocations a worker runs at once, and who waits for that to change."""

import asyncio

from serverless.worker.clock import Clock


class Slots:
    """Counts what runs; `changed` is set whenever the number changes, `idle` while it is 0."""

    def __init__(self, concurrency: int, clock: Clock) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._last_active = clock.now()
        self.running = 0
        self.changed = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self._free = asyncio.Event()
        self._free.set()

    @property
    def free(self) -> int:
        """How many more may run."""
        return self._concurrency - self.running

    @property
    def last_active(self) -> int:
        """When anything ran last, in milliseconds since 1970; at first, when we began."""
        return self._clock.now() if self.running else self._last_active

    async def some(self) -> int:
        """How many are free, once any is."""
        await self._free.wait()
        return self.free

    def take(self) -> None:
        """One more runs."""
        self.running += 1
        self._told()

    def give_back(self) -> None:
        """One has ended."""
        self.running -= 1
        self._last_active = self._clock.now()
        self._told()

    def _told(self) -> None:
        self.changed.set()
        for event, holds in ((self.idle, self.running == 0), (self._free, self.free > 0)):
            if holds:
                event.set()
            else:
                event.clear()
