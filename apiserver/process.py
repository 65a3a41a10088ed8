"""The life cycle of an API process: start, serve, stop."""

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from apiserver.health.readiness import Readiness
from apiserver.health.startup import ClusterNotReadyError
from shared.config.exitcode import ExitCode

TaskFactory = Callable[[], Coroutine[Any, Any, None]]

log = logging.getLogger(__name__)


class Process:
    """The process: a server, and background tasks that run beside it until the stop."""

    def __init__(self, readiness: Readiness, background_tasks: dict[str, TaskFactory]) -> None:
        self._readiness = readiness
        self._background_tasks = background_tasks
        self._exit_code: asyncio.Future[ExitCode] = asyncio.get_running_loop().create_future()

    def stop(self, code: ExitCode = ExitCode.CLEAN) -> None:
        """Stop the process with `code`; the first call wins."""
        if not self._exit_code.done():
            self._exit_code.set_result(code)

    def stop_on_signals(self) -> None:
        """Stop cleanly at SIGTERM and SIGINT."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)

    async def run(self, server: AbstractAsyncContextManager[None]) -> ExitCode:
        """Serve until stopped; then requests finish before the background tasks are cancelled."""
        async with AsyncExitStack() as listening:
            await listening.enter_async_context(server)
            async with asyncio.TaskGroup() as group:
                work = self._background_tasks.items()
                tasks = [group.create_task(self._run_task(each), name=name) for name, each in work]
                code = await self._exit_code
                log.info("stopping", extra={"exitCode": int(code)})
                self._readiness.drain()
                await listening.aclose()
                for task in tasks:
                    task.cancel()
        log.info("stopped", extra={"exitCode": int(code)})
        return code

    async def _run_task(self, task_factory: TaskFactory) -> None:
        try:
            await task_factory()
        except ClusterNotReadyError as error:
            log.error("cluster_not_ready", extra={"error": str(error)})  # noqa: TRY400 - no bug
            self.stop(ExitCode.FAILURE)
