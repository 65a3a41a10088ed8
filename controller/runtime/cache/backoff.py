"""Growing pauses between attempts that share one server's trouble."""

from dataclasses import dataclass
from random import Random

from controller.runtime.clock import Clock


@dataclass(frozen=True, slots=True)
class Ladder:
    """The shape of a back-off: seconds at first, growth, most, and when it starts anew."""

    first: float = 0.8
    factor: float = 2.0
    most: float = 30.0
    reset_after: float = 120.0


class Backoff:
    """Client-go's: each step waits 1 to 2 times its rung; the ladder starts anew by time alone.

    Success does not reset it: a server that accepts and drops would be asked in a hot loop.
    """

    def __init__(self, clock: Clock, randomness: Random, ladder: Ladder | None = None) -> None:
        self._clock = clock
        self._randomness = randomness
        self._ladder = ladder or Ladder()
        self._rung = self._ladder.first
        self._started = clock.monotonic()

    def step(self) -> float:
        """How long to wait now; the next step waits longer."""
        now = self._clock.monotonic()
        if now - self._started > self._ladder.reset_after:
            self._rung, self._started = self._ladder.first, now
        rung = self._rung
        self._rung = min(rung * self._ladder.factor, self._ladder.most)
        return rung * (1.0 + self._randomness.random())
