"""A thread that ends a process which can no longer end its own work."""

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from typing import Final

from controller.runtime.clock import Clock

CHECKS_PER_MARGIN: Final = 4
STDERR_FD: Final = 2
EXIT_MESSAGE: Final = b"leadership could not be given up in time: ending the process\n"


class Watchdog:
    """Calls `abandon` once the clock is past what was last allowed, whatever the loop does.

    The thread looks several times within `spare_seconds`, which is what the caller keeps between
    the time it allows and the time at which it would be too late.
    """

    def __init__(self, clock: Clock, terminate: Callable[[], None], margin_seconds: float) -> None:
        self._clock = clock
        self._terminate = terminate
        self._check_interval = margin_seconds / CHECKS_PER_MARGIN
        self._allowed_until = inf

    def extend_until(self, when: float) -> None:
        """Be quiet until the clock's monotonic time is `when`."""
        self._allowed_until = when

    @contextmanager
    def running(self) -> Iterator[None]:
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

    def _watch(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._check_interval):
            if self._clock.monotonic() >= self._allowed_until:
                self._terminate()
                return


def exit_process() -> None:
    """End this process now: no handler, no lock and no full pipe may hold it up."""
    with suppress(OSError):
        if select.select((), (STDERR_FD,), (), 0)[1]:
            os.write(STDERR_FD, EXIT_MESSAGE)
    os._exit(1)
