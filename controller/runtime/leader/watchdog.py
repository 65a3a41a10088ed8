"""A thread that ends a process whose work does not stop in time."""

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
EXIT_MESSAGE: Final = b"the work of the leader did not stop in time: ending the process\n"


class Watchdog:
    """Calls `terminate` when its deadline has passed, even if the event loop is blocked.

    The thread checks several times within `margin_seconds`, the time between the deadline and the
    end of the lease.
    """

    def __init__(self, clock: Clock, terminate: Callable[[], None], margin_seconds: float) -> None:
        self._clock = clock
        self._terminate = terminate
        self._check_interval = margin_seconds / CHECKS_PER_MARGIN
        self._deadline = inf

    def extend_until(self, when: float) -> None:
        """Move the deadline to the monotonic time `when`."""
        self._deadline = when

    @contextmanager
    def running(self) -> Iterator[None]:
        """Watch during the block; `terminate` is not called after it."""
        stopped = threading.Event()
        thread = threading.Thread(target=self._watch, args=(stopped,), name="watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()
            self._deadline = inf

    def _watch(self, stopped: threading.Event) -> None:
        while not stopped.wait(self._check_interval):
            if self._clock.monotonic() >= self._deadline:
                self._terminate()
                return


def exit_process() -> None:
    """End this process at once, without waiting for a handler, a lock or a full pipe."""
    with suppress(OSError):
        if select.select((), (STDERR_FD,), (), 0)[1]:
            os.write(STDERR_FD, EXIT_MESSAGE)
    os._exit(1)
