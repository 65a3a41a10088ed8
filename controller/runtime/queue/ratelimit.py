"""How long a key that failed waits before it is tried again."""

from typing import Final, Generic, Protocol, TypeVar

from controller.runtime.clock import Clock

K = TypeVar("K")
K_contra = TypeVar("K_contra", contravariant=True)

# Two to this power exceeds every ratio of longest to shortest delay, and never overflows.
MAX_EXPONENT: Final = 64


class RateLimiter(Protocol[K_contra]):
    """Decides delays; every answer of `when` is charged."""

    def when(self, key: K_contra) -> float:
        """Seconds until `key` may be tried again."""
        ...

    def forget(self, key: K_contra) -> None:
        """The next delay of `key` is the first one again."""
        ...

    def failures(self, key: K_contra) -> int:
        """How often `when` was asked for `key` since it was forgotten."""
        ...


class ExponentialBackoff(Generic[K]):
    """Doubles the delay of a key with each failure, up to `longest` seconds."""

    def __init__(self, base_delay: float = 0.005, max_delay: float = 1000.0) -> None:
        self._base_delay = base_delay
        self._max_delay = max_delay
        self._failures: dict[K, int] = {}

    def when(self, key: K) -> float:
        """`first` seconds, twice that, and so on."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(self._base_delay * 2.0 ** min(failures, MAX_EXPONENT), self._max_delay)

    def forget(self, key: K) -> None:
        """Start again from `first`."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Delays given since the key was forgotten."""
        return self._failures.get(key, 0)


class TokenBucket(Generic[K]):
    """Spaces all keys together: `burst` at once, then `rate` a second, each reserving its turn."""

    def __init__(self, clock: Clock, rate: float = 10.0, burst: int = 100) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def when(self, key: K) -> float:
        """Take one token, of the future if need be, and tell when it will be there."""
        now = self._clock.monotonic()
        gained = (now - self._filled_at) * self._rate
        self._tokens = min(self._tokens + gained, self._burst) - 1.0
        self._filled_at = now
        return max(0.0, -self._tokens / self._rate)

    def forget(self, key: K) -> None:
        """Nothing: what was reserved is spent."""

    def failures(self, key: K) -> int:
        """None: the bucket does not know keys apart."""
        return 0


class MaxOfRateLimiter(Generic[K]):
    """The strictest of several limiters; all of them are charged each time."""

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        self._limiters = limiters

    def when(self, key: K) -> float:
        """The longest delay of all."""
        return max([limiter.when(key) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Forget the key in all of them."""
        for limiter in self._limiters:
            limiter.forget(key)

    def failures(self, key: K) -> int:
        """The most failures any of them counted."""
        return max([limiter.failures(key) for limiter in self._limiters])


def default_rate_limiter(clock: Clock) -> RateLimiter[object]:
    """client-go's: 5 ms to 1000 s for each key, and 10 a second after 100 at once for all."""
    return MaxOfRateLimiter[object](ExponentialBackoff[object](), TokenBucket[object](clock))
