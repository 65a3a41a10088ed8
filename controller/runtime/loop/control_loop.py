"""Workers that reconcile the keys of a queue and contain every failure of a reconcile."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from controller.runtime.cancellation import is_being_cancelled
from controller.runtime.clock import TimerClock
from controller.runtime.clock_timeout import ClockTimeout
from controller.runtime.errors import KubeError
from controller.runtime.key import ObjectKey
from controller.runtime.loop.metrics import ERROR, REQUEUE_AFTER, SUCCESS, LabelledLoopMetrics
from controller.runtime.loop.reconcile import (
    ReconcileError,
    Reconciler,
    ReconcileTimeoutError,
    Result,
    TerminalError,
    reconcile_context,
)
from controller.runtime.queue.workqueue import QueueClosedError, WorkQueue

RECONCILE_TIMEOUT_SECONDS: Final = 60.0
# Expected failures of a reconcile; any other error is a bug and counted as a panic.
EXPECTED_ERRORS: Final = (ReconcileError, KubeError)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """The name, the number of workers and the time limits of a control loop."""

    name: str
    workers: int = 1
    reconcile_timeout_seconds: float = RECONCILE_TIMEOUT_SECONDS  # of one reconcile
    cancel_grace_seconds: float = 5.0  # for a cancelled reconcile to end
    drain_timeout_seconds: float = 20.0  # for the running reconciles at a stop


@dataclass(slots=True)
class LoopWorker:
    """One worker; a replaced worker ends after its current reconcile."""

    group: asyncio.TaskGroup
    is_replaced: bool = False


class ControlLoop:
    """Runs a reconciler over a queue, and decides about retries."""

    def __init__(
        self,
        options: LoopOptions,
        queue: WorkQueue[ObjectKey],
        reconciler: Reconciler,
        metrics: LabelledLoopMetrics,
        clock: TimerClock,
        rng: Random,
    ) -> None:
        self._options = options
        self._queue = queue
        self._reconciler = reconciler
        self._metrics = metrics
        self._clock = clock
        self._rng = rng
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def run(self, stop: asyncio.Event) -> None:
        """Reconcile until `stop`; then wait for running reconciles, and cancel them at a timeout.

        Returns when all have ended: a reconcile that ignores its cancellation delays that.
        """
        self._metrics.max_concurrent.set(self._options.workers)
        async with asyncio.TaskGroup() as group:
            try:
                for _ in range(self._options.workers):
                    self._start_worker(LoopWorker(group))
                await stop.wait()
            finally:
                self._stopping = True
                self._queue.close()
            await self._drain()

    def _start_worker(self, worker: LoopWorker) -> None:
        task = worker.group.create_task(
            self._run_worker(worker), name=f"{self._options.name} worker"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self) -> None:
        try:
            async with ClockTimeout(self._clock, self._options.drain_timeout_seconds):
                await self._queue.drain()
        except TimeoutError:
            log_fields = {"controller": self._options.name, "reconciles": len(self._tasks)}
            log.warning("reconciles_cancelled", extra=log_fields)
            for task in self._tasks:
                task.cancel()

    async def _run_worker(self, worker: LoopWorker) -> None:
        while not (self._stopping or worker.is_replaced):
            try:
                key = await self._queue.get()
            except QueueClosedError:
                return
            try:
                await self._process_key(key, worker)
            finally:
                self._queue.done(key)
            await asyncio.sleep(0)  # lets other tasks run, even if no reconcile waits

    async def _process_key(self, key: ObjectKey, worker: LoopWorker) -> None:
        started = self._clock.monotonic()
        reconcile_id = f"{self._rng.getrandbits(32):08x}"
        log_fields = {
            "controller": self._options.name,
            "object": str(key),
            "reconcileID": reconcile_id,
        }
        replace_at = (
            started + self._options.reconcile_timeout_seconds + self._options.cancel_grace_seconds
        )
        watchdog = self._clock.call_at(
            replace_at, partial(self._replace_worker, worker, log_fields)
        )
        self._metrics.active_workers.inc()
        try:
            with reconcile_context(reconcile_id):
                self._handle_outcome(key, await self._reconcile(key), log_fields)
        finally:
            watchdog.cancel()
            self._metrics.active_workers.dec()
            self._metrics.reconcile_seconds.observe(self._clock.monotonic() - started)

    async def _reconcile(self, key: ObjectKey) -> Result | Exception:
        timeout = ClockTimeout(self._clock, self._options.reconcile_timeout_seconds)
        try:
            async with timeout:
                return await self._reconciler.reconcile(key)
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            return RuntimeError("the reconcile awaited a task that was cancelled")
        except Exception as error:  # noqa: BLE001 - a failure concerns its own key only
            if timeout.expired and isinstance(error, TimeoutError):
                return ReconcileTimeoutError(
                    f"not finished after {self._options.reconcile_timeout_seconds:g} s"
                )
            return error
        finally:
            if timeout.expired:
                self._metrics.timeouts.inc()

    def _handle_outcome(
        self, key: ObjectKey, outcome: Result | Exception, log_fields: dict[str, str]
    ) -> None:
        priority = self._queue.priority(key)
        if isinstance(outcome, Exception):
            self._metrics.count_result(ERROR)
            self._log_failure(outcome, log_fields)
            if is_all_of(outcome, TerminalError):
                self._queue.forget(key)
            else:
                self._queue.add_rate_limited(key, priority)
        elif outcome.requeue_after is not None:
            self._metrics.count_result(REQUEUE_AFTER)
            self._queue.forget(key)
            next_priority = priority if outcome.priority is None else outcome.priority
            self._queue.add_after(key, outcome.requeue_after, next_priority)
        else:
            self._metrics.count_result(SUCCESS)
            self._queue.forget(key)

    def _log_failure(self, error: Exception, log_fields: dict[str, str]) -> None:
        log_fields = {**log_fields, "error": str(error)}
        if is_all_of(error, TerminalError):
            self._metrics.terminal_errors.inc()
            log.error("reconcile_given_up", extra=log_fields)
        elif is_all_of(error, EXPECTED_ERRORS):
            log.warning("reconcile_failed", extra=log_fields)
        else:
            self._metrics.panics.inc()
            log.error("reconcile_broken", extra=log_fields, exc_info=error)

    def _replace_worker(self, worker: LoopWorker, log_fields: dict[str, str]) -> None:
        log.error("reconcile_ignores_cancellation", extra=log_fields)
        if not self._stopping:  # a task group that is ending accepts no tasks
            worker.is_replaced = True
            self._start_worker(LoopWorker(worker.group))


def is_all_of(error: Exception, types: type[Exception] | tuple[type[Exception], ...]) -> bool:
    """Whether the error, or every error of a group, is of these types."""
    if isinstance(error, ExceptionGroup):
        return error.split(types)[1] is None
    return isinstance(error, types)
