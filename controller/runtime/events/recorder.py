"""Events about objects: recorded at once, written in the background, repeated ones as a series.

Of equal events the first and its first repeat are written at once. After that the count goes on
in memory, and the server hears of it every half hour, when the series is over, and at the end.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from functools import partial
from itertools import takewhile
from random import Random
from typing import Final

from controller.runtime.clock import Clock
from controller.runtime.clock_timeout import Deadline
from controller.runtime.errors import ApiError, UnreachableError
from controller.runtime.events.event import (
    Reporter,
    Writer,
    event_name,
    is_expected,
    trimmed,
    write,
)
from controller.runtime.events.series import (
    FINISH_SECONDS,
    Bucket,
    Fact,
    Reference,
    Series,
    finish_at,
    is_due,
    is_over,
    is_unwritten,
    remember,
    repeated,
    saved,
    spent,
)

MOST_WAITING: Final = 1000
MOST_TRIES: Final = 12
RETRY_SECONDS: Final = 10.0
RETRY_JITTER: Final = 0.25
FLUSH_SECONDS: Final = 2.0
ACTION: Final = "Reconcile"

log = logging.getLogger(__name__)


class EventRecorder:
    """Tells people what happened to objects, and neither fails nor holds up whoever tells it.

    `dropped` counts, by the reason why, what was not written and will not be.
    """

    def __init__(
        self, client: Writer, clock: Clock, random: Random, controller_name: str, instance: str
    ) -> None:
        self._clock = clock
        self._random = random
        self._write = partial(write, client, Reporter(controller_name, instance))
        self._series: OrderedDict[Fact, Series] = OrderedDict()  # in the order of `seen_at`
        self._buckets: OrderedDict[Reference, Bucket] = OrderedDict()
        self._waiting: asyncio.Queue[Fact] = asyncio.Queue(MOST_WAITING)
        self._taken: set[Fact] = set()  # those that wait, and the one that is being written
        self._overflowed = False
        self.dropped: Counter[str] = Counter()

    def normal(
        self,
        subject: Reference,
        reason: str,
        message: str,
        action: str = ACTION,
        related: Reference | None = None,
    ) -> None:
        """All is as it should be; to be called on the loop's thread."""
        self._record(Fact(subject, "Normal", reason, action, message, related))

    def warning(
        self,
        subject: Reference,
        reason: str,
        message: str,
        action: str = ACTION,
        related: Reference | None = None,
    ) -> None:
        """There is trouble; to be called on the loop's thread."""
        self._record(Fact(subject, "Warning", reason, action, message, related))

    async def run(self) -> None:
        """Write until cancelled, and then what is left for as long as the budget lasts."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write_waiting(), name="events")
                group.create_task(self._finish_silent(), name="event-series")
        finally:
            await self._flush()

    def _record(self, told: Fact) -> None:
        fact = trimmed(told)
        series = self._series.get(fact)
        if series is None:
            return self._begin(fact)
        again = repeated(series, self._clock.now(), self._clock.monotonic())
        remember(self._series, fact, again)
        return self._schedule(fact)

    def _begin(self, fact: Fact) -> None:
        if self._waiting.full():
            return self._overflow()
        now = self._clock.monotonic()
        bucket = spent(self._buckets.get(fact.regarding), now)
        if bucket is None:
            return self._drop("too_many")
        remember(self._buckets, fact.regarding, bucket)
        at, name = self._clock.now(), event_name(fact.regarding.name, self._unique())
        remember(self._series, fact, Series(name, at, at, now))
        return self._schedule(fact)

    def _schedule(self, fact: Fact) -> None:
        """Have it written if it is due; one that finds no place is counted on, and comes later."""
        due = is_due(self._series[fact], self._clock.monotonic())
        if due and fact not in self._taken and not self._waiting.full():
            self._taken.add(fact)
            self._waiting.put_nowait(fact)

    async def _write_waiting(self) -> None:
        while True:
            fact = await self._waiting.get()
            await self._insist(fact)
            self._taken.discard(fact)
            self._overflowed = self._overflowed and not self._waiting.empty()

    async def _insist(self, fact: Fact) -> None:
        """Try until the server answers, and let all others wait: they would fare no better."""
        for tries_left in reversed(range(MOST_TRIES)):
            series = self._series.get(fact)
            if series is None or not is_due(series, self._clock.monotonic()):
                return
            try:
                await self._try(fact, series)
            except UnreachableError as error:
                if tries_left:
                    await self._clock.sleep(self._pause())
                else:
                    self._give_up(fact, series, error)

    async def _try(self, fact: Fact, series: Series) -> None:
        """One try; UnreachableError is for the caller, every other answer is the last word."""
        try:
            known = await self._write(fact, series)
        except UnreachableError:
            raise
        except ApiError as error:
            level = logging.DEBUG if is_expected(error) else logging.WARNING
            log.log(level, "event_refused", extra={"kubeError": str(error)})
            self._drop("refused")
            known = series.count
        self._heard(fact, known)

    def _heard(self, fact: Fact, known: int) -> None:
        now, series = self._clock.monotonic(), self._series.get(fact)
        if series is None:
            return
        self._series[fact] = saved(series, known, now)
        self._settle(fact, now)

    def _give_up(self, fact: Fact, series: Series, error: ApiError) -> None:
        log.warning("event_given_up", extra={"kubeError": str(error)})
        self._drop("unreachable")
        self._heard(fact, series.count)

    async def _finish_silent(self) -> None:
        while True:
            await self._clock.sleep(self._finish(self._clock.monotonic()))

    def _finish(self, now: float) -> float:
        """End the series that are over, and give the seconds until the next one can be."""
        over = takewhile(lambda fact: is_over(self._series[fact], now), self._series)
        for fact in list(over):
            self._settle(fact, now)
        alive = (series for series in self._series.values() if not is_over(series, now))
        return next(map(finish_at, alive), now + FINISH_SECONDS) - now

    def _settle(self, fact: Fact, now: float) -> None:
        """Forget a series that is over, unless the server has yet to hear how it ended."""
        if is_unwritten(self._series[fact]):
            self._schedule(fact)
        elif is_over(self._series[fact], now):
            del self._series[fact]

    async def _flush(self) -> None:
        """Try once for each series that the server does not know whole, while the budget lasts."""
        unwritten = [pair for pair in self._series.items() if is_unwritten(pair[1])]
        left = len(unwritten)
        try:
            async with Deadline(self._clock, FLUSH_SECONDS):
                for fact, series in unwritten:
                    await self._try(fact, series)
                    left -= 1
        except (TimeoutError, UnreachableError) as error:
            log.warning("events_not_flushed", extra={"left": left, "kubeError": str(error)})
            self._drop("stopped", left)

    def _overflow(self) -> None:
        if not self._overflowed:
            self._overflowed = True
            log.warning("events_overflow", extra={"waiting": MOST_WAITING})
        self._drop("queue_full")

    def _drop(self, why: str, number: int = 1) -> None:
        self.dropped[why] += number

    def _pause(self) -> float:
        return RETRY_SECONDS * (1 + RETRY_JITTER * self._random.random())

    def _unique(self) -> str:
        return f"{self._random.getrandbits(64):016x}"
