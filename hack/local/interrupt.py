"""The handling of a signal such as Ctrl-C at any time."""

import asyncio
from collections.abc import Coroutine
from types import FrameType


class InterruptHandler:
    """A signal handler that raises KeyboardInterrupt, and cancels the work of `run`.

    Raising alone is not enough: Python drops an exception that is raised inside a finaliser.
    """

    def __init__(self) -> None:
        self._was_interrupted = False
        self._work: asyncio.Task[None] | None = None

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self._was_interrupted = True
        if self._work is not None:
            self._work.get_loop().call_soon_threadsafe(self._cancel, self._work)
        raise KeyboardInterrupt

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Run a coroutine in an event loop; raises KeyboardInterrupt if a signal arrives."""
        try:
            asyncio.run(self._run_cancellable(work))
        except asyncio.CancelledError:
            if not self._was_interrupted:
                raise
        if self._was_interrupted:
            raise KeyboardInterrupt

    async def _run_cancellable(self, work: Coroutine[None, None, None]) -> None:
        self._work = asyncio.current_task()
        try:
            await work
        finally:
            self._work = None

    def _cancel(self, work: asyncio.Task[None]) -> None:
        """Cancel the task once, because a second cancellation would interrupt the clean-up."""
        if not work.cancelling():
            work.cancel()
