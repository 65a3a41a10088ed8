"""A thread that ends a process which can no longer end its own work."""

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Final

from controller.runtime.clock import Clock

CHECKS: Final = 4
STANDARD_ERROR: Final = 2
LAST_WORDS: Final = b"leadership could not be given up in time: ending the process\n"


class Watchdog:
    """Calls `abandon` once the clock is past what was last allowed, whatever the loop does.

    The thread looks several times within `spare_seconds`, which is what the caller keeps between
    the time it allows and the time at which it would be too late.
    """

    def __init__(self, clock: Clock, abandon: Callable[[], None], spare_seconds: float) -> None:
        self._clock = clock
        self._abandon = abandon
        self._pause = spare_seconds / CHECKS
        self._allowed_until = inf

    def allow_until(self, when: float) -> None:
        """Be quiet until the clock's monotonic time is `when`."""
        self._allowed_until = when

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch for the length of the block; nothing is abandoned after it."""
        over = threading.Event()
        thread = threading.Thread(target=self._watch, args=(over,), name="watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._allowed_until = inf

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(self._pause):
            if self._clock.monotonic() >= self._allowed_until:
                self._abandon()
                return


def end_process() -> None:
    """End this process now: no handler, no lock and no full pipe may hold it up."""
    with suppress(OSError):
        if select.select((), (STANDARD_ERROR,), (), 0)[1]:
            os.write(STANDARD_ERROR, LAST_WORDS)
    os._exit(1)
