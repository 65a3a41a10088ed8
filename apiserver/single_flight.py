"""Values that are asked for often and fetched seldom."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from apiserver.clock import Clock

V = TypeVar("V")

MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Fetched(Generic[V]):
    """A value, and when it was asked for."""

    value: V
    at: float


class _AbandonedError(Exception):
    """Whoever fetched the value was cancelled; somebody else has to."""


class SingleFlight(Generic[V]):
    """Keeps values for a while; who asks for one that is being fetched gets what comes of that."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._kept: dict[str, Fetched[V]] = {}
        self._flights: dict[str, asyncio.Future[V]] = {}

    async def get(self, key: str, fetch: Callable[[], Awaitable[V]]) -> V:
        """The value of a key, at most so many seconds old; what `fetch` raises is not kept."""
        while True:
            kept = self._kept.get(key)
            if kept is not None and self._clock.monotonic() - kept.at < self._seconds:
                return kept.value
            flight = self._flights.get(key)
            if flight is None:
                return await self._fetched(key, fetch)
            try:
                return await asyncio.shield(flight)
            except _AbandonedError:
                continue

    async def _fetched(self, key: str, fetch: Callable[[], Awaitable[V]]) -> V:
        """The value, for oneself and for all who come meanwhile."""
        flight: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        began = self._clock.monotonic()
        try:
            value = await fetch()
        except BaseException as error:
            is_failure = isinstance(error, Exception)
            flight.set_exception(error if is_failure else _AbandonedError())
            flight.exception()  # nobody may have waited for it
            raise
        finally:
            del self._flights[key]
        flight.set_result(value)
        self._keep(key, Fetched(value, began))
        return value

    def _keep(self, key: str, fetched: Fetched[V]) -> None:
        """Callers choose the keys, so that their number has an end."""
        if len(self._kept) >= MOST:
            self._kept.clear()
        self._kept[key] = fetched
