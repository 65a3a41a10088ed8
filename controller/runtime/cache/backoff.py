"""Growing pauses between attempts that share one server's trouble."""

from dataclasses import dataclass
from random import Random

from controller.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class BackoffParameters:
    """The shape of a back-off: seconds at first, growth, most, and when it starts anew."""

    initial_seconds: float = 0.8
    factor: float = 2.0
    max_seconds: float = 30.0
    reset_after_seconds: float = 120.0


class Backoff:
    """Client-go's: each step waits 1 to 2 times its rung; the ladder starts anew by time alone.

    Success does not reset it: a server that accepts and drops would be asked in a hot loop.
    """

    def __init__(
        self, clock: Clock, rng: Random, parameters: BackoffParameters | None = None
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._parameters = parameters or BackoffParameters()
        self._delay = self._parameters.initial_seconds
        self._reset_at = clock.monotonic()

    def step(self) -> float:
        """How long to wait now; the next step waits longer."""
        now = self._clock.monotonic()
        if now - self._reset_at > self._parameters.reset_after_seconds:
            self._delay, self._reset_at = self._parameters.initial_seconds, now
        rung = self._delay
        self._delay = min(rung * self._parameters.factor, self._parameters.max_seconds)
        return rung * (1.0 + self._rng.random())
