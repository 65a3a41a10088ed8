"""When not to call somebody who does not answer."""

import math
from enum import Enum, auto
from typing import Final

from apiserver.clock import Clock

MAX_FAILURES: Final = 5
OPEN_SECONDS: Final = 5.0


class Permit(Enum):
    """As what a call was let through."""

    NORMAL = auto()
    PROBE = auto()


class CallResult(Enum):
    """What a call showed of the other side; a refusal is an answer too."""

    ANSWERED = auto()
    FAILED = auto()
    UNKNOWN = auto()


class CircuitBreaker:
    """Opens after five failures in a row; then one trial at a time finds out when to close."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._probe_at = 0.0
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        """Whether calls fail at once."""
        return self._failures >= MAX_FAILURES

    @property
    def retry_after(self) -> int:
        """Whole seconds until the next trial, at least one."""
        return max(1, math.ceil(self._probe_at - self._clock.monotonic()))

    def acquire(self) -> Permit | None:
        """Let one call through, or not; whoever enters also leaves."""
        if not self.is_open:
            return Permit.NORMAL
        if self._is_probing or self._clock.monotonic() < self._probe_at:
            return None
        self._is_probing = True
        return Permit.PROBE

    def release(self, permit: Permit, result: CallResult) -> None:
        """Learn from a call that ended."""
        if permit is Permit.PROBE:
            self._is_probing = False
        if result is CallResult.ANSWERED:
            self._failures = 0
        if result is CallResult.FAILED:
            self._record_failure(permit)

    def allow_probe_now(self) -> None:
        """Do not wait for the next trial: there is a sign of life."""
        self._probe_at = self._clock.monotonic()

    def _record_failure(self, permit: Permit) -> None:
        """Calls that were under way as it opened fail late, and must not keep it open."""
        was_open = self.is_open
        self._failures += 1
        if self.is_open and (permit is Permit.PROBE or not was_open):
            self._probe_at = self._clock.monotonic() + OPEN_SECONDS
