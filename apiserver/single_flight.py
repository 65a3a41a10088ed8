"""A cache that fetches a value once for all concurrent callers."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from shared.clock import Clock

V = TypeVar("V")

MAX_ENTRIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class CachedValue(Generic[V]):
    """A value, and when its fetch began."""

    value: V
    fetched_at: float


class _FetchCancelledError(Exception):
    """The caller that fetched the value was cancelled; another caller fetches it."""


class SingleFlightCache(Generic[V]):
    """A cache of values for a limited time; concurrent callers of a key share one fetch."""

    def __init__(self, clock: Clock, ttl_seconds: float) -> None:
        self._clock = clock
        self._ttl_seconds = ttl_seconds
        self._cached: dict[str, CachedValue[V]] = {}
        self._flights: dict[str, asyncio.Future[V]] = {}

    async def get(self, key: str, fetch: Callable[[], Awaitable[V]]) -> V:
        """Return the value of a key; errors of `fetch` are raised and not cached."""
        while True:
            cached = self._cached.get(key)
            if cached and self._clock.monotonic() - cached.fetched_at < self._ttl_seconds:
                return cached.value
            flight = self._flights.get(key)
            if flight is None:
                return await self._fetch(key, fetch)
            try:
                return await asyncio.shield(flight)
            except _FetchCancelledError:
                continue

    async def _fetch(self, key: str, fetch: Callable[[], Awaitable[V]]) -> V:
        """Fetch the value for this caller and for those that join."""
        flight: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight
        began = self._clock.monotonic()
        try:
            value = await fetch()
        except BaseException as error:
            is_failure = isinstance(error, Exception)
            flight.set_exception(error if is_failure else _FetchCancelledError())
            flight.exception()  # mark the error as retrieved: perhaps no other caller has joined
            raise
        finally:
            del self._flights[key]
        flight.set_result(value)
        self._store(key, CachedValue(value, began))
        return value

    def _store(self, key: str, cached_value: CachedValue[V]) -> None:
        """Cache a value; the cache is bounded, because callers choose the keys."""
        if len(self._cached) >= MAX_ENTRIES:
            self._cached.clear()
        self._cached[key] = cached_value
