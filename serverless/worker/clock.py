"""The time that goes into records, passed in so that tests can bend it."""

import time
from typing import Protocol


class RecordClock(Protocol):
    """The only way in which a worker tells the time."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        ...


class SystemRecordClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000
