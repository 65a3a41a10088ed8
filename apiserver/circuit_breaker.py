"""A circuit breaker, which stops requests to a server that does not respond."""

import math
from enum import Enum, auto
from typing import Final

from shared.clock import Clock

MAX_FAILURES: Final = 5
OPEN_SECONDS: Final = 5.0


class Permit(Enum):
    """The way in which the circuit breaker admitted a call."""

    NORMAL = auto()
    PROBE = auto()


class CallResult(Enum):
    """The result of a call; an error response counts as ANSWERED."""

    ANSWERED = auto()
    FAILED = auto()
    UNKNOWN = auto()


class CircuitBreaker:
    """A breaker that opens after five failures in a row, then admits single probes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures = 0
        self._probe_at = 0.0
        self._is_probing = False

    @property
    def is_open(self) -> bool:
        """Return whether only probes are admitted."""
        return self._failures >= MAX_FAILURES

    @property
    def retry_after(self) -> int:
        """Return the whole seconds until the next probe, at least one."""
        return max(1, math.ceil(self._probe_at - self._clock.monotonic()))

    def acquire(self) -> Permit | None:
        """Admit a call, or return None if it must not be sent.

        The caller must release the permit.
        """
        if not self.is_open:
            return Permit.NORMAL
        if self._is_probing or self._clock.monotonic() < self._probe_at:
            return None
        self._is_probing = True
        return Permit.PROBE

    def release(self, permit: Permit, result: CallResult) -> None:
        """End an admitted call and count its result."""
        if permit is Permit.PROBE:
            self._is_probing = False
        if result is CallResult.ANSWERED:
            self._failures = 0
        if result is CallResult.FAILED:
            self._record_failure(permit)

    def allow_probe_now(self) -> None:
        """Admit the next call as a probe without waiting, because the server may be back."""
        self._probe_at = self._clock.monotonic()

    def _record_failure(self, permit: Permit) -> None:
        """Count a failure; once the breaker is open, only a failed probe postpones the next one."""
        was_open = self.is_open
        self._failures += 1
        if self.is_open and (permit is Permit.PROBE or not was_open):
            self._probe_at = self._clock.monotonic() + OPEN_SECONDS
