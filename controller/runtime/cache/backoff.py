"""Exponential back-off between requests to a server that fails."""

from dataclasses import dataclass
from random import Random

from controller.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class BackoffParameters:
    """First delay, factor, maximum, and the time after which the first delay applies again."""

    initial_seconds: float = 0.8
    factor: float = 2.0
    max_seconds: float = 30.0
    reset_after_seconds: float = 120.0


class Backoff:
    """The back-off of client-go: each delay is multiplied by 1 to 2, and only time resets it.

    Success does not reset it: a server that accepts and then drops connections would get requests
    in a tight loop.
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
        """Return the seconds to wait now, and increase the next delay."""
        now = self._clock.monotonic()
        if now - self._reset_at > self._parameters.reset_after_seconds:
            self._delay, self._reset_at = self._parameters.initial_seconds, now
        delay = self._delay
        self._delay = min(delay * self._parameters.factor, self._parameters.max_seconds)
        return delay * (1.0 + self._rng.random())
