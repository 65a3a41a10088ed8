"""Values that are asked for often and fetched seldom."""

import asyncio
from collections import defaultdict
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


class SingleFlight(Generic[V]):
    """Keeps values for a while; who asks meanwhile for one that is being fetched waits for it."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._kept: dict[str, Fetched[V]] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def get(self, key: str, fetch: Callable[[], Awaitable[V]]) -> V:
        """The value of a key, at most so many seconds old; what `fetch` raises is not kept."""
        kept = self._fresh(key)
        if kept is not None:
            return kept.value
        async with self._turns[key]:
            kept = self._fresh(key)
            if kept is None:
                began = self._clock.monotonic()
                kept = Fetched(await fetch(), began)
                self._keep(key, kept)
            return kept.value

    def _fresh(self, key: str) -> Fetched[V] | None:
        kept = self._kept.get(key)
        is_fresh = kept is not None and self._clock.monotonic() - kept.at < self._seconds
        return kept if is_fresh else None

    def _keep(self, key: str, fetched: Fetched[V]) -> None:
        """Callers choose the keys, so that their number has an end."""
        if len(self._kept) >= MOST:
            self._kept.clear()
        self._kept[key] = fetched
        self._turns = defaultdict(
            asyncio.Lock, {each: lock for each, lock in self._turns.items() if lock.locked()}
        )
