"""Requests that wait for something to happen, and must not keep a process from stopping."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LongPolls:
    """Lets requests wait, until the process stops."""

    def __init__(self) -> None:
        self._timeouts: set[asyncio.Timeout] = set()
        self._is_stopping = False

    def stop(self) -> None:
        """End every wait, and those that are still to begin."""
        self._is_stopping = True
        for scope in self._timeouts:
            _expire(scope)

    async def run_until_stop(self, coroutine: Coroutine[Any, Any, T]) -> T | None:
        """The result of `work`; None if the process stops before there is one."""
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


def _expire(timeout_seconds: asyncio.Timeout) -> None:
    timeout_seconds.reschedule(asyncio.get_running_loop().time())
