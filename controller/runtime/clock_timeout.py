"""A timeout on an injected clock."""

import asyncio
from types import TracebackType

from controller.runtime.clock import TimerClock


class ClockTimeout:
    """`asyncio.timeout` of `seconds` on `clock`."""

    def __init__(self, clock: TimerClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)

    @property
    def expired(self) -> bool:
        """Whether the time limit cancelled the block, even if it raised another error."""
        return self._timeout.expired()

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()
        self._timer = self._clock.call_at(self._clock.monotonic() + self._seconds, self._expire)

    async def __aexit__(
        self,
        exception_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        await self._timeout.__aexit__(exception_type, error, traceback)

    def _expire(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time())
