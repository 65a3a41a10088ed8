"""Requests that wait for something to happen, and must not keep a process from stopping."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Waits:
    """Lets requests wait, until the process stops."""

    def __init__(self) -> None:
        self._scopes: set[asyncio.Timeout] = set()
        self._stopping = False

    def stop(self) -> None:
        """End every wait, and those that are still to begin."""
        self._stopping = True
        for scope in self._scopes:
            _end(scope)

    async def until_stop(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The result of `work`; None if the process stops before there is one."""
        scope = asyncio.timeout(None)
        try:
            async with scope:
                self._scopes.add(scope)
                if self._stopping:
                    _end(scope)
                return await work
        except TimeoutError:
            if not scope.expired():
                raise
            return None
        finally:
            self._scopes.discard(scope)


def _end(scope: asyncio.Timeout) -> None:
    scope.reschedule(asyncio.get_running_loop().time())
