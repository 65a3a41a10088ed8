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
from controller.runtime.clock_timeout import Deadline
from controller.runtime.leader.candidate import Candidate, Lock
from controller.runtime.leader.metrics import LeaderMetrics
from controller.runtime.leader.rules import ElectionSettings, LeadershipLostError, Term, term_of
from controller.runtime.leader.watchdog import Watchdog, end_process

log = logging.getLogger(__name__)

Lead = Callable[[], Awaitable[None]]


class Ending(enum.Enum):
    """Why a leadership is over."""

    FINISHED = "the work returned"
    LOST = "the lease was not renewed in time, or another process has it"


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Whom an elector tells what; none of them may wait.

    `report` gets the message of an event about the Lease, `on_new_leader` each holder that is new
    to us ("" for a lease that was released), and `abandon` ends a process whose work does not stop.
    """

    report: Callable[[str], None]
    on_new_leader: Callable[[str], None]
    abandon: Callable[[], None] = end_process


class LeaderElector:
    """Runs work in one of many processes at a time; the module says what that means exactly."""

    def __init__(
        self,
        lock: Lock,
        settings: ElectionSettings,
        clock: Clock,
        randomness: random.Random,
        metrics: LeaderMetrics,
        callbacks: Callbacks,
    ) -> None:
        self._candidate = Candidate(lock, settings, clock, metrics, callbacks.on_new_leader)
        self._settings = settings
        self._clock = clock
        self._randomness = randomness
        self._report = callbacks.report
        self._status = metrics.status.labels(settings.name)
        self._watchdog = Watchdog(clock, callbacks.abandon, settings.spare_seconds)
        self._term: Term | None = None

    def is_leader(self) -> bool:
        """Whether this process certainly leads at this instant; any thread may ask."""
        term = self._term
        return term is not None and self._in_time(term)

    def fence(self) -> None:
        """Raise LeadershipLostError unless this process leads: to be asked before each write."""
        if not self.is_leader():
            raise LeadershipLostError(
                f"{self._candidate.identity} does not lead {self._settings.name}"
            )

    async def run(self, lead: Lead) -> Ending:
        """Wait for the lease, run `lead()` while it is ours, and give it back when that has ended.

        Failures of the API never raise; what `lead` raises does, but for the fence's own error. A
        cancellation is a clean stop: the lease is renewed until the work has ended. After a loss
        it may be run again.
        """
        try:
            await self._acquire()
            return await self._reign(lead)
        finally:
            await self._candidate.release()

    async def _acquire(self) -> None:
        while not (await self._candidate.attempt() and self._held()):
            await self._clock.sleep(self._settings.wait_seconds(self._randomness.random()))

    async def _reign(self, lead: Lead) -> Ending:
        self._tell("became leader")
        self._status.set(1)
        try:
            with self._watchdog.watching():
                return await self._renewing(lead)
        finally:
            self._term = None
            self._status.set(0)
            self._tell("stopped leading")

    async def _renewing(self, lead: Lead) -> Ending:
        """Work in this task and renew in another, so that a cancellation reaches the work alone."""
        failure: Exception | None = None
        ending = Ending.FINISHED
        async with asyncio.TaskGroup() as group:
            scope = asyncio.timeout(None)
            renewing = group.create_task(self._renew(scope), name="renewing")
            try:
                ending = await until_expired(scope, lead)
            except Exception as error:  # noqa: BLE001 - raised below, without the group round it
                failure = error
            finally:
                renewing.cancel()
        if failure is not None:
            raise failure
        return ending

    async def _renew(self, scope: asyncio.Timeout) -> None:
        """Renew until that fails, then let `scope` expire."""
        while await self._renewed():
            await self._clock.sleep(self._settings.retry_seconds)
        self._term = None
        scope.reschedule(asyncio.get_running_loop().time())

    async def _renewed(self) -> bool:
        """Try until the term's deadline, or until another holder is seen."""
        term = self._term
        if term is None or not self._in_time(term):
            return False
        try:
            left = self._deadline(term) - self._clock.monotonic()
            async with Deadline(self._clock, left):
                while not await self._candidate.attempt():
                    if not self._candidate.sees_itself:
                        return False
                    await self._clock.sleep(self._settings.retry_seconds)
        except TimeoutError:
            return False
        # A term that lapsed stays over: its work may have seen that already.
        goes_on = term.goes_on_in(self._candidate.observed.record)
        return goes_on and self._in_time(term) and self._held()

    def _held(self) -> bool:
        """Lead from the last write on, unless its answer came too late to be worth anything."""
        term = term_of(self._candidate.observed)
        if not self._in_time(term):
            return False
        self._watchdog.allow_until(term.renewed + self._settings.stopped_seconds)
        self._term = term
        return True

    def _deadline(self, term: Term) -> float:
        return term.renewed + self._settings.renew_seconds

    def _in_time(self, term: Term) -> bool:
        return self._clock.monotonic() < self._deadline(term)

    def _tell(self, what: str) -> None:
        self._report(f"{self._candidate.identity} {what}")
        log.info(what.replace(" ", "_"), extra={"election": self._settings.name})


async def until_expired(scope: asyncio.Timeout, lead: Lead) -> Ending:
    """Run the work to its end; it is cancelled when the scope expires."""
    try:
        async with scope:
            await lead()
    except LeadershipLostError:
        return Ending.LOST
    except TimeoutError:
        if not scope.expired():
            raise
    return Ending.LOST if scope.expired() else Ending.FINISHED
