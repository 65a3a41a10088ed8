"""Long polls: requests that wait for a change, until the process stops."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LongPolls:
    """The current waits of requests, which end when the process stops."""

    def __init__(self) -> None:
        self._timeouts: set[asyncio.Timeout] = set()
        self._is_stopping = False

    def stop(self) -> None:
        """End all current waits at once, and later ones when they begin."""
        self._is_stopping = True
        for scope in self._timeouts:
            _expire(scope)

    async def run_until_stop(self, coroutine: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of a coroutine; None if the process stops first."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._timeouts.add(scope)
                if self._is_stopping:
                    _expire(scope)
                return await coroutine
        except TimeoutError:
            if not scope.expired():
                raise
            return None
        finally:
            self._timeouts.discard(scope)


def _expire(scope: asyncio.Timeout) -> None:
    scope.reschedule(asyncio.get_running_loop().time())
