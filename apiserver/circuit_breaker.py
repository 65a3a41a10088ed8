"""When not to call somebody who does not answer."""

import math
from enum import Enum, auto
from typing import Final

from apiserver.clock import Clock

MOST_FAILURES: Final = 5
OPEN_SECONDS: Final = 5.0


class Entry(Enum):
    """As what a call was let through."""

    CALL = auto()
    TRIAL = auto()


class Outcome(Enum):
    """What a call showed of the other side; a refusal is an answer too."""

    ANSWERED = auto()
    FAILED = auto()
    UNKNOWN = auto()


class Breaker:
    """Opens after five failures in a row; then one trial at a time finds out when to close."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._trial_at = 0.0
        self._is_trying = False

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self._failures >= MOST_FAILURES

    @property
    def retry_after(self) -> int:
        """Whole seconds until the next trial, at least one."""
        return max(1, math.ceil(self._trial_at - self._clock.monotonic()))

    def enter(self) -> Entry | None:
        """Let one call through, or not; whoever enters also leaves."""
        if not self.is_open:
            return Entry.CALL
        if self._is_trying or self._clock.monotonic() < self._trial_at:
            return None
        self._is_trying = True
        return Entry.TRIAL

    def leave(self, entry: Entry, outcome: Outcome) -> None:
        """Learn from a call that ended."""
        if entry is Entry.TRIAL:
            self._is_trying = False
        if outcome is Outcome.ANSWERED:
            self._failures = 0
        if outcome is Outcome.FAILED:
            self._fail(entry)

    def try_now(self) -> None:
        """Do not wait for the next trial: there is a sign of life."""
        self._trial_at = self._clock.monotonic()

    def _fail(self, entry: Entry) -> None:
        """Calls that were under way as it opened fail late, and must not keep it open."""
        was_open = self.is_open
        self._failures += 1
        if self.is_open and (entry is Entry.TRIAL or not was_open):
            self._trial_at = self._clock.monotonic() + OPEN_SECONDS
