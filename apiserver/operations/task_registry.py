"""Work that goes on whoever waits for it, and is joined by whoever asks for the same."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from apiserver.errors import ServiceUnavailableError

T = TypeVar("T")

log = logging.getLogger(__name__)


class KeyedTasks:
    """One piece of work a key in this process.

    That saves doing things twice here; what keeps them right is the API server, which all
    processes ask.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[Any]] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Own the work until cancelled; what is cut off then is resumed by whoever runs next."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                self._group = None  # before what is cut off has ended: it takes no more

    def start(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> "asyncio.Future[T]":
        """What will come of `key`: begun now, unless it is under way."""
        if key in self._running:
            return self._running[key]
        if self._group is None:
            raise ServiceUnavailableError("this replica is starting or stopping", retry_after=1)
        result: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._running[key] = result
        self._group.create_task(self._run_task(key, work, result), name=key)
        return result

    async def join(
        self, key: str, work: Callable[[], Coroutine[Any, Any, T]], timeout_seconds: float
    ) -> T | None:
        """What came of `key`; None if it is still under way after `within` seconds."""
        result = self.start(key, work)
        await asyncio.wait({result}, timeout=timeout_seconds)
        return result.result() if result.done() else None

    async def _run_task(
        self, key: str, work: Callable[[], Coroutine[Any, Any, T]], result: "asyncio.Future[T]"
    ) -> None:
        """Hand the result or the failure to those who wait, and neither to the group."""
        try:
            result.set_result(await work())
        except Exception as error:  # noqa: BLE001 - handed on to those who wait
            log.info("operation_interrupted", extra={"operation": key, "error": str(error)})
            result.set_exception(error)
            result.exception()  # somebody may wait for it, but nobody has to
        finally:
            self._running.pop(key, None)
            result.cancel()
