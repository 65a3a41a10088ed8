"""Records events about objects, and writes them in the background; repeated ones as a series.

The first two of equal events are written at once. Later ones are counted in memory; the count is
written every half hour, when the series is over, and when the process stops.
"""

import asyncio
import logging
from collections import Counter, OrderedDict
from functools import partial
from itertools import takewhile
from random import Random
from typing import Final

from controller.runtime.clock import TimerClock
from controller.runtime.clock_timeout import ClockTimeout
from controller.runtime.errors import KubeError, UnreachableError
from controller.runtime.events.event import (
    EventWriter,
    ReportingController,
    event_name,
    is_namespace_gone,
    truncate_texts,
    write_event,
)
from controller.runtime.events.series import (
    SERIES_FINISH_SECONDS,
    EventContent,
    EventSeries,
    EventTokenBucket,
    ObjectReference,
    finish_at,
    is_finished,
    is_unwritten,
    is_write_due,
    put_bounded,
    take_token,
    with_repeat,
    with_written,
)

MAX_PENDING_EVENTS: Final = 1000
MAX_ATTEMPTS: Final = 12
RETRY_SECONDS: Final = 10.0
RETRY_JITTER: Final = 0.25
FLUSH_SECONDS: Final = 2.0
DEFAULT_ACTION: Final = "Reconcile"

log = logging.getLogger(__name__)


class EventRecorder:
    """Records events about objects, without raising and without waiting.

    `dropped` counts events that will not be written, by reason.
    """

    def __init__(
        self,
        client: EventWriter,
        clock: TimerClock,
        rng: Random,
        controller_name: str,
        instance: str,
    ) -> None:
        self._clock = clock
        self._rng = rng
        self._write_event = partial(
            write_event, client, ReportingController(controller_name, instance)
        )
        # Ordered by `seen_at`.
        self._series: OrderedDict[EventContent, EventSeries] = OrderedDict()
        self._buckets: OrderedDict[ObjectReference, EventTokenBucket] = OrderedDict()
        self._pending: asyncio.Queue[EventContent] = asyncio.Queue(MAX_PENDING_EVENTS)
        # The pending events, and the one that is being written.
        self._scheduled: set[EventContent] = set()
        self._overflowed = False
        self.dropped: Counter[str] = Counter()

    def normal(
        self,
        regarding: ObjectReference,
        reason: str,
        message: str,
        action: str = DEFAULT_ACTION,
        related: ObjectReference | None = None,
    ) -> None:
        """Record a Normal event; call it on the thread of the event loop."""
        self._record(EventContent(regarding, "Normal", reason, action, message, related))

    def warning(
        self,
        regarding: ObjectReference,
        reason: str,
        message: str,
        action: str = DEFAULT_ACTION,
        related: ObjectReference | None = None,
    ) -> None:
        """Record a Warning event; call it on the thread of the event loop."""
        self._record(EventContent(regarding, "Warning", reason, action, message, related))

    async def run(self) -> None:
        """Write events until cancelled, then the pending ones within a time limit."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._write_pending(), name="events")
                group.create_task(self._run_finisher(), name="event-series")
        finally:
            await self._flush()

    def _record(self, content: EventContent) -> None:
        content = truncate_texts(content)
        series = self._series.get(content)
        if series is None:
            return self._begin_series(content)
        repeated = with_repeat(series, self._clock.now(), self._clock.monotonic())
        put_bounded(self._series, content, repeated)
        return self._schedule_write(content)

    def _begin_series(self, content: EventContent) -> None:
        if self._pending.full():
            return self._overflow()
        now = self._clock.monotonic()
        bucket = take_token(self._buckets.get(content.regarding), now)
        if bucket is None:
            return self._count_dropped("too_many")
        put_bounded(self._buckets, content.regarding, bucket)
        observed_at = self._clock.now()
        name = event_name(content.regarding.name, self._unique_suffix())
        put_bounded(self._series, content, EventSeries(name, observed_at, observed_at, now))
        return self._schedule_write(content)

    def _schedule_write(self, content: EventContent) -> None:
        """Schedule a write if it is due; if the queue is full, a later event does it."""
        is_due = is_write_due(self._series[content], self._clock.monotonic())
        if is_due and content not in self._scheduled and not self._pending.full():
            self._scheduled.add(content)
            self._pending.put_nowait(content)

    async def _write_pending(self) -> None:
        while True:
            content = await self._pending.get()
            await self._write_with_retries(content)
            self._scheduled.discard(content)
            self._overflowed = self._overflowed and not self._pending.empty()

    async def _write_with_retries(self, content: EventContent) -> None:
        """Retry until the server responds; other events wait, because they would fail too."""
        for attempts_left in reversed(range(MAX_ATTEMPTS)):
            series = self._series.get(content)
            if series is None or not is_write_due(series, self._clock.monotonic()):
                return
            try:
                await self._write_once(content, series)
            except UnreachableError as error:
                if attempts_left:
                    await self._clock.sleep(self._retry_delay())
                else:
                    self._give_up(content, series, error)

    async def _write_once(self, content: EventContent, series: EventSeries) -> None:
        """Write once; UnreachableError if the server does not respond, any other error is final."""
        try:
            written_count = await self._write_event(content, series)
        except UnreachableError:
            raise
        except KubeError as error:
            level = logging.DEBUG if is_namespace_gone(error) else logging.WARNING
            log.log(level, "event_refused", extra={"kubeError": str(error)})
            self._count_dropped("refused")
            written_count = series.count
        self._mark_written(content, written_count)

    def _mark_written(self, content: EventContent, written_count: int) -> None:
        now, series = self._clock.monotonic(), self._series.get(content)
        if series is None:
            return
        self._series[content] = with_written(series, written_count, now)
        self._forget_or_schedule(content, now)

    def _give_up(self, content: EventContent, series: EventSeries, error: KubeError) -> None:
        log.warning("event_given_up", extra={"kubeError": str(error)})
        self._count_dropped("unreachable")
        self._mark_written(content, series.count)

    async def _run_finisher(self) -> None:
        while True:
            await self._clock.sleep(self._finish_series(self._clock.monotonic()))

    def _finish_series(self, now: float) -> float:
        """Finish the series that are over; return the seconds until the next one can be."""
        finished = takewhile(lambda content: is_finished(self._series[content], now), self._series)
        for content in list(finished):
            self._forget_or_schedule(content, now)
        unfinished = (series for series in self._series.values() if not is_finished(series, now))
        return next(map(finish_at, unfinished), now + SERIES_FINISH_SECONDS) - now

    def _forget_or_schedule(self, content: EventContent, now: float) -> None:
        """Remove a finished series, or schedule a write if its count is not written."""
        if is_unwritten(self._series[content]):
            self._schedule_write(content)
        elif is_finished(self._series[content], now):
            del self._series[content]

    async def _flush(self) -> None:
        """Write each series with an unwritten count once, within a time limit."""
        unwritten = [pair for pair in self._series.items() if is_unwritten(pair[1])]
        left = len(unwritten)
        try:
            async with ClockTimeout(self._clock, FLUSH_SECONDS):
                for content, series in unwritten:
                    await self._write_once(content, series)
                    left -= 1
        except (TimeoutError, UnreachableError) as error:
            log.warning("events_not_flushed", extra={"left": left, "kubeError": str(error)})
            self._count_dropped("stopped", left)

    def _overflow(self) -> None:
        if not self._overflowed:
            self._overflowed = True
            log.warning("events_overflow", extra={"waiting": MAX_PENDING_EVENTS})
        self._count_dropped("queue_full")

    def _count_dropped(self, reason: str, number: int = 1) -> None:
        self.dropped[reason] += number

    def _retry_delay(self) -> float:
        return RETRY_SECONDS * (1 + RETRY_JITTER * self._rng.random())

    def _unique_suffix(self) -> str:
        return f"{self._rng.getrandbits(64):016x}"
