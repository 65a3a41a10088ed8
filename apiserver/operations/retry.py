"""Retries transient errors of Kubernetes; all calls are idempotent."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, TypeVar

from apiserver.kube import errors as kube_errors
from shared.clock import Clock

T = TypeVar("T")

TRANSIENT_ERRORS: Final = (
    kube_errors.ServerError,
    kube_errors.ThrottledError,
    kube_errors.UnreachableError,
)
DELAYS_SECONDS: Final = (0.05, 0.2, 0.5)


class Retry:
    """A few quick retries while a request waits; the caller can repeat the whole request."""

    def __init__(
        self, clock: Clock, rng: Random, delays: tuple[float, ...] = DELAYS_SECONDS
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._delays = delays

    async def call(self, func: Callable[[], Awaitable[T]]) -> T:
        """Call the function, and again after a transient error.

        A call whose response was lost is repeated although it took effect: a create then finds
        its name taken, and a change finds another version.
        """
        for delay in self._delays:
            try:
                return await func()
            except TRANSIENT_ERRORS:
                await self._clock.sleep(delay * self._rng.uniform(0.5, 1.0))
        return await func()

    async def call_until(self, func: Callable[[], Awaitable[T]], deadline: float) -> T:
        """Call the function until it succeeds or `deadline` has passed, for background work.

        Not for a conditional call: it would retry a conflict with its own lost call.
        """
        delay = 0.1
        while True:
            try:
                return await func()
            except kube_errors.KubeError as error:
                if not is_transient(error) or self._clock.monotonic() >= deadline:
                    raise
            await self._clock.sleep(delay * self._rng.uniform(0.5, 1.0))
            delay = min(delay * 2, 5.0)


def is_transient(error: kube_errors.KubeError) -> bool:
    """Return whether a retry can help; an unconditional change may conflict with another."""
    return error.is_uncertain or isinstance(
        error, kube_errors.ThrottledError | kube_errors.ConflictError
    )
