"""Runs one task per key; callers join it, and it survives them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from apiserver.errors import ServiceUnavailableError

T = TypeVar("T")

log = logging.getLogger(__name__)


class KeyedTasks:
    """The running tasks of this process, one per key.

    This saves work. Correctness comes from conditional writes to the API server, which all
    processes use.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[Any]] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Own the tasks until cancelled; other processes resume the cancelled operations."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None  # starts no more tasks

    def start(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> "asyncio.Future[T]":
        """Return the future result of `key`; start its task unless it already runs."""
        if key in self._running:
            return self._running[key]
        if self._group is None:
            raise ServiceUnavailableError(
                "this replica is starting or stopping; try again", retry_after=1
            )
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._running[key] = result
        self._group.create_task(self._run_task(key, work, result), name=key)
        return result

    async def join(
        self, key: str, work: Callable[[], Coroutine[Any, Any, T]], timeout_seconds: float
    ) -> T | None:
        """Return the result of `key`; None if its task still runs at the timeout."""
        result = self.start(key, work)
        await asyncio.wait({result}, timeout=timeout_seconds)
        return result.result() if result.done() else None

    async def _run_task(
        self, key: str, work: Callable[[], Coroutine[Any, Any, T]], result: "asyncio.Future[T]"
    ) -> None:
        """Pass the result or the error to the callers; an error must not cancel the group."""
        try:
            result.set_result(await work())
        except Exception as error:  # noqa: BLE001 - passed on to the waiting callers
            log.info("operation_interrupted", extra={"operation": key, "error": str(error)})
            result.set_exception(error)
            result.exception()  # marks the error as retrieved: there may be no caller left
        finally:
            self._running.pop(key, None)
            result.cancel()
