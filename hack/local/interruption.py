"""A signal to stop, heard in whatever moment it comes."""

import asyncio
from collections.abc import Awaitable
from types import FrameType


class Interruption:
    """The handler of such signals: raises KeyboardInterrupt, and sees to it that it is heard.

    Python drops what a handler raises inside a finaliser. Work on a loop is cancelled then.
    """

    def __init__(self) -> None:
        self._has_come = False
        self._work: asyncio.Task[None] | None = None

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self._has_come = True
        if self._work is not None:
            self._work.get_loop().call_soon_threadsafe(self._cancel, self._work)
        raise KeyboardInterrupt

    async def until_it_comes(self, work: Awaitable[None]) -> None:
        """Await the work; KeyboardInterrupt if a signal came meanwhile."""
        self._work = asyncio.current_task()
        try:
            await work
        except asyncio.CancelledError:
            if not self._has_come:
                raise
        finally:
            self._work = None
        if self._has_come:
            raise KeyboardInterrupt

    def _cancel(self, work: asyncio.Task[None]) -> None:
        """Only what nobody has cancelled: a second time would disturb how it ends."""
        if not work.cancelling():
            work.cancel()
