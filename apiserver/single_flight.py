"""Values that are asked for often and fetched seldom."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from apiserver.clock import Clock

V = TypeVar("V")

MAX_ENTRIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[V]):
    """A value, and when it was asked for."""

    value: V
    fetched_at: float


class _FetchCancelledError(Exception):
    """Whoever fetched the value was cancelled; somebody else has to."""


class SingleFlightCache(Generic[V]):
    """Keeps values for a while; who asks for one that is being fetched gets what comes of that."""

    def __init__(self, clock: Clock, ttl_seconds: float) -> None:
        self._clock = clock
        self._ttl_seconds = ttl_seconds
        self._cached: dict[str, CachedValue[V]] = {}
        self._flights: dict[str, asyncio.Future[V]] = {}

    async def get(self, key: str, fetch: Callable[[], Awaitable[V]]) -> V:
        """The value of a key, at most so many seconds old; what `fetch` raises is not kept."""
        while True:
            kept = self._cached.get(key)
            if kept is not None and self._clock.monotonic() - kept.fetched_at < self._ttl_seconds:
                return kept.value
            flight = self._flights.get(key)
            if flight is None:
                return await self._fetch(key, fetch)
            try:
                return await asyncio.shield(flight)
            except _FetchCancelledError:
                continue

    async def _fetch(self, key: str, fetch: Callable[[], Awaitable[V]]) -> V:
        """The value, for oneself and for all who come meanwhile."""
        flight: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        began = self._clock.monotonic()
        try:
            value = await fetch()
        except BaseException as error:
            is_failure = isinstance(error, Exception)
            flight.set_exception(error if is_failure else _FetchCancelledError())
            flight.exception()  # nobody may have waited for it
            raise
        finally:
            del self._flights[key]
        flight.set_result(value)
        self._store(key, CachedValue(value, began))
        return value

    def _store(self, key: str, cached_value: CachedValue[V]) -> None:
        """Callers choose the keys, so that their number has an end."""
        if len(self._cached) >= MAX_ENTRIES:
            self._cached.clear()
        self._cached[key] = cached_value
