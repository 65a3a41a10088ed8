"""Rate limiters: how long a failed key waits before it is retried."""

from typing import Final, Generic, Protocol, TypeVar

from controller.runtime.clock import Clock

K = TypeVar("K")
K_contra = TypeVar("K_contra", contravariant=True)

# Two to this power exceeds every ratio of maximum to base delay, and does not overflow.
MAX_EXPONENT: Final = 64


class RateLimiter(Protocol[K_contra]):
    """Computes delays; every call of `when` counts as a failure."""

    def when(self, key: K_contra) -> float:
        """Return the seconds until `key` may be retried."""
        ...

    def forget(self, key: K_contra) -> None:
        """Reset the delay of `key` to the first one."""
        ...

    def failures(self, key: K_contra) -> int:
        """Return the number of `when` calls for `key` since it was forgotten."""
        ...


class ExponentialBackoff(Generic[K]):
    """Doubles the delay of a key with each failure, up to `max_delay` seconds."""

    def __init__(self, base_delay: float = 0.005, max_delay: float = 1000.0) -> None:
        self._base_delay = base_delay
        self._max_delay = max_delay
        self._failures: dict[K, int] = {}

    def when(self, key: K) -> float:
        """Return `base_delay`, twice that, and so on."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        return min(self._base_delay * 2.0 ** min(failures, MAX_EXPONENT), self._max_delay)

    def forget(self, key: K) -> None:
        """Reset the delay of `key` to `base_delay`."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Return the number of delays since the key was forgotten."""
        return self._failures.get(key, 0)


class TokenBucket(Generic[K]):
    """Limits all keys together: `burst` at once, then `rate` per second."""

    def __init__(self, clock: Clock, rate: float = 10.0, burst: int = 100) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def when(self, key: K) -> float:
        """Take one token, or reserve a future one; return the seconds until it is available."""
        now = self._clock.monotonic()
        refill = (now - self._filled_at) * self._rate
        self._tokens = min(self._tokens + refill, self._burst) - 1.0
        self._filled_at = now
        return max(0.0, -self._tokens / self._rate)

    def forget(self, key: K) -> None:
        """Do nothing: a reserved token is not returned."""

    def failures(self, key: K) -> int:
        """Return 0: the bucket does not count by key."""
        return 0


class MaxOfRateLimiter(Generic[K]):
    """Combines limiters: the longest delay applies, and every limiter counts the failure."""

    def __init__(self, *limiters: RateLimiter[K]) -> None:
        self._limiters = limiters

    def when(self, key: K) -> float:
        """Return the longest delay of all limiters."""
        return max([limiter.when(key) for limiter in self._limiters])

    def forget(self, key: K) -> None:
        """Forget the key in all limiters."""
        for limiter in self._limiters:
            limiter.forget(key)

    def failures(self, key: K) -> int:
        """Return the highest number of failures that a limiter counted."""
        return max([limiter.failures(key) for limiter in self._limiters])


def default_rate_limiter(clock: Clock) -> RateLimiter[object]:
    """Create client-go's limiter: 5 ms to 1000 s per key; for all keys 100, then 10 per second."""
    return MaxOfRateLimiter[object](ExponentialBackoff[object](), TokenBucket[object](clock))
