"""One leader among many processes: client-go's election, with an end that is enforced.

A leader's time runs from the sending of its last successful renewal, on its own monotonic clock.
Another process can take the lease no earlier than the lease's duration after that, because it saw
the renewal later than we sent it and waits for the duration that we wrote. Within this time:

- After the renew deadline `is_leader()` is false, `fence()` raises and the work is cancelled. The
  first two compare times, so they hold at any instant, also when the loop was blocked or the
  process was stopped, and no later renewal makes them true again.
- When the work has not stopped shortly before the lease ends, a thread calls `abandon`, which ends
  the process: work that ignores its cancellation or blocks the loop does not outlive the lease.

What needs the fence: a process that was stopped for longer than its lease wakes up everywhere at
once, and a step of the work may run before its cancellation or the thread. So work asks `fence()`
before each write, with no `await` between.

What no process can guarantee by itself: one that is stopped between the fence and the send, or
whose request is held up on its way, still writes late. So writes must also be safe under the API
server's optimistic concurrency. A call into C that keeps the interpreter's lock holds up the
thread too, but then nothing of ours can write either. Suspending the machine stops
`CLOCK_MONOTONIC`, and deleting the Lease by hand frees it at once: both are seen only at the next
renewal.
"""

import asyncio
import enum
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from controller.runtime.clock import Clock
from controller.runtime.clock_timeout import ClockTimeout
from controller.runtime.leader.candidate import Candidate, ResourceLock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, LeadershipLostError, Term, term_of
from controller.runtime.leader.watchdog import Watchdog, exit_process

log = logging.getLogger(__name__)

LeaderWork = Callable[[], Awaitable[None]]


class LeadershipEnd(enum.Enum):
    """Why a leadership is over."""

    FINISHED = "the work returned"
    LOST = "the lease was not renewed in time, or another process has it"


@dataclass(frozen=True, slots=True)
class ElectorCallbacks:
    """Whom an elector tells what; none of them may wait.

    `report` gets the message of an event about the Lease, `on_new_leader` each holder that is new
    to us ("" for a lease that was released), and `abandon` ends a process whose work does not stop.
    """

    report_event: Callable[[str], None]
    on_new_leader: Callable[[str], None]
    terminate: Callable[[], None] = exit_process


class LeaderElector:
    """Runs work in one of many processes at a time; the module says what that means exactly."""

    def __init__(
        self,
        lock: ResourceLock,
        settings: ElectionSettings,
        clock: Clock,
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
        """Whether this process certainly leads at this instant; any thread may ask."""
        term = self._term
        return term is not None and self._is_in_time(term)

    def fence(self) -> None:
        """Raise LeadershipLostError unless this process leads: to be asked before each write."""
        if not self.is_leader():
            raise LeadershipLostError(
                f"{self._candidate.identity} does not lead {self._settings.name}"
            )

    async def run(self, work: LeaderWork) -> LeadershipEnd:
        """Wait for the lease, run `lead()` while it is ours, and give it back when that has ended.

        Failures of the API never raise; what `lead` raises does, but for the fence's own error. A
        cancellation is a clean stop: the lease is renewed until the work has ended. After a loss
        it may be run again.
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
        """Work in this task and renew in another, so that a cancellation reaches the work alone."""
        failure: Exception | None = None
        ending = LeadershipEnd.FINISHED
        async with asyncio.TaskGroup() as group:
            scope = asyncio.timeout(None)
            renewing = group.create_task(self._renew_until_failure(scope), name="renewing")
            try:
                ending = await run_until_expired(scope, work)
            except Exception as error:  # noqa: BLE001 - raised below, without the group round it
                failure = error
            finally:
                renewing.cancel()
        if failure is not None:
            raise failure
        return ending

    async def _renew_until_failure(self, work_timeout: asyncio.Timeout) -> None:
        """Renew until that fails, then let `scope` expire."""
        while await self._renew_once():
            await self._clock.sleep(self._settings.retry_period_seconds)
        self._term = None
        work_timeout.reschedule(asyncio.get_running_loop().time())

    async def _renew_once(self) -> bool:
        """Try until the term's deadline, or until another holder is seen."""
        term = self._term
        if term is None or not self._is_in_time(term):
            return False
        try:
            left = self._renew_deadline(term) - self._clock.monotonic()
            async with ClockTimeout(self._clock, left):
                while not await self._candidate.try_acquire_or_renew():
                    if not self._candidate.is_observed_holder:
                        return False
                    await self._clock.sleep(self._settings.retry_period_seconds)
        except TimeoutError:
            return False
        # A term that lapsed stays over: its work may have seen that already.
        goes_on = term.is_continued_by(self._candidate.observed.record)
        return goes_on and self._is_in_time(term) and self._begin_or_extend_term()

    def _begin_or_extend_term(self) -> bool:
        """Lead from the last write on, unless its answer came too late to be worth anything."""
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

    def _announce(self, what: str) -> None:
        self._report_event(f"{self._candidate.identity} {what}")
        log.info(what.replace(" ", "_"), extra={"election": self._settings.name})


async def run_until_expired(work_timeout: asyncio.Timeout, work: LeaderWork) -> LeadershipEnd:
    """Run the work to its end; it is cancelled when the scope expires."""
    try:
        async with work_timeout:
            await work()
    except LeadershipLostError:
        return LeadershipEnd.LOST
    except TimeoutError:
        if not work_timeout.expired():
            raise
    return LeadershipEnd.LOST if work_timeout.expired() else LeadershipEnd.FINISHED
