"""Workers that reconcile the keys of a queue, whatever the reconciler does to them."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Final

from controller.runtime.cancellation import is_being_cancelled
from controller.runtime.clock import Clock
from controller.runtime.clock_timeout import Deadline
from controller.runtime.errors import ApiError
from controller.runtime.key import ObjectKey
from controller.runtime.loop.metrics import ERROR, REQUEUE_AFTER, SUCCESS, MeasuredLoop
from controller.runtime.loop.reconcile import (
    OverdueError,
    ReconcileError,
    Reconciler,
    Result,
    TerminalError,
    identified,
)
from controller.runtime.queue.workqueue import QueueClosedError, WorkQueue

# What a reconcile may fail with; anything else is a bug and counted as a panic.
EXPECTED: Final = (ReconcileError, ApiError)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoopOptions:
    """The name, width and patience of a control loop; times are in seconds."""

    name: str
    workers: int = 1
    deadline: float = 60.0  # for one reconcile
    grace: float = 5.0  # for a reconcile to end once it is cancelled
    drain: float = 20.0  # for the running reconciles when the loop is told to stop


@dataclass(slots=True)
class Worker:
    """One place in the group; a replaced worker ends with the reconcile it is in."""

    group: asyncio.TaskGroup
    replaced: bool = False


class ControlLoop:
    """Runs a reconciler over a queue, and alone decides what follows from each outcome."""

    def __init__(
        self,
        options: LoopOptions,
        queue: WorkQueue[ObjectKey],
        reconciler: Reconciler,
        metrics: MeasuredLoop,
        clock: Clock,
        random: Random,
    ) -> None:
        self._options = options
        self._queue = queue
        self._reconciler = reconciler
        self._metrics = metrics
        self._clock = clock
        self._random = random
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`; then running reconciles may end in time, or are cancelled.

        Returns when all have ended: one that ignores its cancellation keeps the loop waiting.
        """
        self._metrics.workers.set(self._options.workers)
        async with asyncio.TaskGroup() as group:
            try:
                for _ in range(self._options.workers):
                    self._start(Worker(group))
                await stop.wait()
            finally:
                self._stopping = True
                self._queue.close()
            await self._drain()

    def _start(self, worker: Worker) -> None:
        task = worker.group.create_task(self._work(worker), name=f"{self._options.name} worker")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drain(self) -> None:
        try:
            async with Deadline(self._clock, self._options.drain):
                await self._queue.drained()
        except TimeoutError:
            about = {"controller": self._options.name, "reconciles": len(self._tasks)}
            log.warning("reconciles_cancelled", extra=about)
            for task in self._tasks:
                task.cancel()

    async def _work(self, worker: Worker) -> None:
        while not (self._stopping or worker.replaced):
            try:
                key = await self._queue.get()
            except QueueClosedError:
                return
            try:
                await self._process(key, worker)
            finally:
                self._queue.done(key)
            await asyncio.sleep(0)  # reconciles that never wait must not hold up the event loop

    async def _process(self, key: ObjectKey, worker: Worker) -> None:
        started = self._clock.monotonic()
        by = f"{self._random.getrandbits(32):08x}"
        about = {"controller": self._options.name, "object": str(key), "reconcileID": by}
        lost_at = started + self._options.deadline + self._options.grace
        watchdog = self._clock.call_at(lost_at, partial(self._replace, worker, about))
        self._metrics.active.inc()
        try:
            with identified(by):
                self._settle(key, await self._attempt(key), about)
        finally:
            watchdog.cancel()
            self._metrics.active.dec()
            self._metrics.seconds.observe(self._clock.monotonic() - started)

    async def _attempt(self, key: ObjectKey) -> Result | Exception:
        limit = Deadline(self._clock, self._options.deadline)
        try:
            async with limit:
                return await self._reconciler.reconcile(key)
        except asyncio.CancelledError:
            if is_being_cancelled():
                raise
            return RuntimeError("the reconcile awaited something that was cancelled")
        except Exception as error:  # noqa: BLE001 - any failure is an outcome of its own key only
            if limit.expired and isinstance(error, TimeoutError):
                return OverdueError(f"no end after {self._options.deadline:g} s")
            return error
        finally:
            if limit.expired:
                self._metrics.timeouts.inc()

    def _settle(self, key: ObjectKey, outcome: Result | Exception, about: dict[str, str]) -> None:
        priority = self._queue.priority(key)
        if isinstance(outcome, Exception):
            self._metrics.ended(ERROR)
            self._report(outcome, about)
            if consists_of(outcome, TerminalError):
                self._queue.forget(key)
            else:
                self._queue.add_rate_limited(key, priority)
        elif outcome.requeue_after is not None:
            self._metrics.ended(REQUEUE_AFTER)
            self._queue.forget(key)
            next_priority = priority if outcome.priority is None else outcome.priority
            self._queue.add_after(key, outcome.requeue_after, next_priority)
        else:
            self._metrics.ended(SUCCESS)
            self._queue.forget(key)

    def _report(self, error: Exception, about: dict[str, str]) -> None:
        about = {**about, "error": str(error)}
        if consists_of(error, TerminalError):
            self._metrics.terminal.inc()
            log.error("reconcile_given_up", extra=about)
        elif consists_of(error, EXPECTED):
            log.warning("reconcile_failed", extra=about)
        else:
            self._metrics.panics.inc()
            log.error("reconcile_broken", extra=about, exc_info=error)

    def _replace(self, worker: Worker, about: dict[str, str]) -> None:
        log.error("reconcile_ignores_cancellation", extra=about)
        if not self._stopping:  # a group that ends takes no more tasks
            worker.replaced = True
            self._start(Worker(worker.group))


def consists_of(error: Exception, kinds: type[Exception] | tuple[type[Exception], ...]) -> bool:
    """Whether the error, or each one in it if it is a group, is of these kinds."""
    if isinstance(error, ExceptionGroup):
        return error.split(kinds)[1] is None
    return isinstance(error, kinds)
