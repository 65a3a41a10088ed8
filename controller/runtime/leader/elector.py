"""Leader election: the algorithm of client-go, with an end of the leadership that is enforced.

The time of a leader counts from the sending of its last successful renewal, on its own monotonic
clock. Another process can acquire the lease one lease duration after that at the earliest, because
it saw the renewal later than we sent it, and waits for the duration that we wrote. Until then:

- At the renew deadline `is_leader()` becomes false, `fence()` raises and the work is cancelled. The
  first two compare times, so they are right at any instant, also if the event loop was blocked or
  the process suspended. No later renewal makes them true again.
- If the work has not stopped shortly before the lease ends, a thread calls `terminate`, which ends
  the process: work that ignores its cancellation or blocks the loop does not outlive the lease.

Why the fence is necessary: when a process that was suspended for longer than its lease resumes, a
step of the work may run before its cancellation or the thread. So the work calls `fence()` before
each write, without an `await` in between.

What no process can guarantee: a process that is suspended between fence and send, or a request that
is delayed on its way, still writes late. So all writes must also be safe under the optimistic
concurrency of the API server. A C function that holds the interpreter lock delays the thread too,
but then no other code can write either. Suspending the machine stops `CLOCK_MONOTONIC`, and a
deleted Lease is free at once: both are noticed at the next renewal.
"""

import asyncio
import enum
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from controller.runtime.clock import TimerClock
from controller.runtime.clock_timeout import ClockTimeout
from controller.runtime.leader.candidate import Candidate, ResourceLock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, LeadershipLostError, Term, term_of
from controller.runtime.leader.watchdog import Watchdog, exit_process

log = logging.getLogger(__name__)

LeaderWork = Callable[[], Awaitable[None]]


class LeadershipEnd(enum.Enum):
    """Why a leadership ended."""

    FINISHED = "the work returned"
    LOST = "the lease was not renewed in time, or another process has it"


@dataclass(frozen=True, slots=True)
class ElectorCallbacks:
    """Callbacks of an elector, which must not wait.

    `report_event` gets the message of an event about the Lease, `on_new_leader` each new holder
    ("" for a released lease), and `terminate` ends a process whose work does not stop.
    """

    report_event: Callable[[str], None]
    on_new_leader: Callable[[str], None]
    terminate: Callable[[], None] = exit_process


class LeaderElector:
    """Runs work in one of many processes at a time, as the docstring of the module defines."""

    def __init__(
        self,
        lock: ResourceLock,
        settings: ElectionSettings,
        clock: TimerClock,
        rng: random.Random,
        metrics: LeaderMetrics,
        callbacks: ElectorCallbacks,
    ) -> None:
        self._candidate = Candidate(lock, settings, clock, metrics, callbacks.on_new_leader)
        self._settings = settings
        self._clock = clock
        self._rng = rng
        self._report_event = callbacks.report_event
        self._status = metrics.status.labels(settings.name)
        self._watchdog = Watchdog(clock, callbacks.terminate, settings.margin_seconds)
        self._term: Term | None = None

    def is_leader(self) -> bool:
        """Whether this process certainly leads at this instant; safe on any thread."""
        term = self._term
        return term is not None and self._is_in_time(term)

    def fence(self) -> None:
        """Raise LeadershipLostError unless this process leads; call it before each write."""
        if not self.is_leader():
            raise LeadershipLostError(
                f"{self._candidate.identity} does not lead {self._settings.name}"
            )

    async def run(self, work: LeaderWork) -> LeadershipEnd:
        """Acquire the lease, run `work` while this process holds it, then release it.

        Errors of the API do not raise; errors of `work` do, except that of the fence. A
        cancellation is a clean stop: the lease is renewed until the work has ended. After a loss
        `run` may be called again.
        """
        try:
            await self._acquire()
            return await self._run_as_leader(work)
        finally:
            await self._candidate.release()

    async def _acquire(self) -> None:
        while not (await self._candidate.try_acquire_or_renew() and self._begin_or_extend_term()):
            await self._clock.sleep(self._settings.jittered_wait_seconds(self._rng.random()))

    async def _run_as_leader(self, work: LeaderWork) -> LeadershipEnd:
        self._announce("became leader")
        self._status.set(1)
        try:
            with self._watchdog.running():
                return await self._work_while_renewing(work)
        finally:
            self._term = None
            self._status.set(0)
            self._announce("stopped leading")

    async def _work_while_renewing(self, work: LeaderWork) -> LeadershipEnd:
        """Work in this task and renew in another, so that a cancellation reaches only the work."""
        failure: Exception | None = None
        end = LeadershipEnd.FINISHED
        async with asyncio.TaskGroup() as group:
            work_timeout = asyncio.timeout(None)
            renewing = group.create_task(self._renew_until_failure(work_timeout), name="renewing")
            try:
                end = await run_until_expired(work_timeout, work)
            except Exception as error:  # noqa: BLE001 - raised below, without an exception group
                failure = error
            finally:
                renewing.cancel()
        if failure is not None:
            raise failure
        return end

    async def _renew_until_failure(self, work_timeout: asyncio.Timeout) -> None:
        """Renew until that fails, then let `work_timeout` expire."""
        while await self._renew_once():
            await self._clock.sleep(self._settings.retry_period_seconds)
        self._term = None
        work_timeout.reschedule(asyncio.get_running_loop().time())

    async def _renew_once(self) -> bool:
        """Retry until the renew deadline, or until another process holds the lease."""
        term = self._term
        if term is None or not self._is_in_time(term):
            return False
        try:
            seconds_left = self._renew_deadline(term) - self._clock.monotonic()
            async with ClockTimeout(self._clock, seconds_left):
                while not await self._candidate.try_acquire_or_renew():
                    if not self._candidate.is_observed_holder:
                        return False
                    await self._clock.sleep(self._settings.retry_period_seconds)
        except TimeoutError:
            return False
        # An expired term is over: the work may have noticed it already.
        is_continued = term.is_continued_by(self._candidate.observed.record)
        return is_continued and self._is_in_time(term) and self._begin_or_extend_term()

    def _begin_or_extend_term(self) -> bool:
        """Lead from the time of the last write; False if its response came too late."""
        term = term_of(self._candidate.observed)
        if not self._is_in_time(term):
            return False
        self._watchdog.extend_until(term.renewed_at + self._settings.stop_deadline_seconds)
        self._term = term
        return True

    def _renew_deadline(self, term: Term) -> float:
        return term.renewed_at + self._settings.renew_deadline_seconds

    def _is_in_time(self, term: Term) -> bool:
        return self._clock.monotonic() < self._renew_deadline(term)

    def _announce(self, message: str) -> None:
        self._report_event(f"{self._candidate.identity} {message}")
        log.info(message.replace(" ", "_"), extra={"election": self._settings.name})


async def run_until_expired(work_timeout: asyncio.Timeout, work: LeaderWork) -> LeadershipEnd:
    """Run the work to its end, or until `work_timeout` cancels it."""
    try:
        async with work_timeout:
            await work()
    except LeadershipLostError:
        return LeadershipEnd.LOST
    except TimeoutError:
        if not work_timeout.expired():
            raise
    return LeadershipEnd.LOST if work_timeout.expired() else LeadershipEnd.FINISHED
