"""Trying again where that may help: all our calls can be repeated without harm."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, TypeVar

from apiserver.clock import Clock
from apiserver.kube import errors as kube_errors

T = TypeVar("T")

TRANSIENT_ERRORS: Final = (
    kube_errors.ServerError,
    kube_errors.ThrottledError,
    kube_errors.UnreachableError,
)
DELAYS_SECONDS: Final = (0.05, 0.2, 0.5)


class Retry:
    """A few quick tries for somebody who waits; a caller repeats the whole request anyway."""

    def __init__(
        self, clock: Clock, rng: Random, delays: tuple[float, ...] = DELAYS_SECONDS
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._delays = delays

    async def call(self, func: Callable[[], Awaitable[T]]) -> T:
        """The answer of `call`; after a failure that may pass it is called again.

        A call that took effect although its answer was lost is repeated too: a create then finds
        its name taken, and a change finds another version.
        """
        for pause in self._delays:
            try:
                return await func()
            except TRANSIENT_ERRORS:
                await self._clock.sleep(pause * self._rng.uniform(0.5, 1.0))
        return await func()

    async def call_until(self, func: Callable[[], Awaitable[T]], deadline: float) -> T:
        """The same until `deadline` on the monotonic clock, for work that nobody waits for.

        Not for a call with a condition: a conflict is taken for that of somebody else.
        """
        pause = 0.1
        while True:
            try:
                return await func()
            except kube_errors.KubeError as error:
                if not is_transient(error) or self._clock.monotonic() >= deadline:
                    raise
            await self._clock.sleep(pause * self._rng.uniform(0.5, 1.0))
            pause = min(pause * 2, 5.0)


def is_transient(error: kube_errors.KubeError) -> bool:
    """Whether trying again can help; a change without a condition may collide with others'."""
    return error.is_uncertain or isinstance(
        error, kube_errors.ThrottledError | kube_errors.ConflictError
    )
