"""Rules of event series as pure functions: equality of events, and the times of writes.

client-go's tools/events compares events without their note, and so loses every note but the first,
because the API forbids a change. Here another note is another event, and a limit per object drops
notes that never repeat. The resourceVersion is not compared: every write of the object changes it,
so an object that fails repeatedly would never have a repetition.
"""

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Literal, TypeVar

K = TypeVar("K")
V = TypeVar("V")

SERIES_FINISH_SECONDS: Final = 360.0
SERIES_REFRESH_SECONDS: Final = 1800.0
EVENT_BURST: Final = 25.0
TOKEN_REFILL_SECONDS: Final = 300.0
MAX_REMEMBERED: Final = 4096

EventType = Literal["Normal", "Warning"]


@dataclass(frozen=True, slots=True)
class ObjectReference:
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class EventContent:
    """The content of an event; equal content is one event that repeats."""

    regarding: ObjectReference
    type: EventType
    reason: str
    action: str
    note: str
    related: ObjectReference | None = None


@dataclass(frozen=True, slots=True)
class EventSeries:
    """One Event object and its number of occurrences; the server knows `written_count` of them.

    The `observed` times are wall-clock times; `seen_at` and `written_at` are monotonic.
    """

    name: str
    first_observed: datetime
    last_observed: datetime
    seen_at: float
    count: int = 1
    written_count: int = 0
    written_at: float = 0.0


@dataclass(frozen=True, slots=True)
class EventTokenBucket:
    """The number of new events that an object may still have, at `filled_at`."""

    tokens: float
    filled_at: float


def with_repeat(series: EventSeries, at: datetime, now: float) -> EventSeries:
    """Return the series after one more occurrence."""
    return replace(series, last_observed=at, seen_at=now, count=series.count + 1)


def with_written(series: EventSeries, count: int, now: float) -> EventSeries:
    """Return the series after `count` occurrences were written."""
    return replace(series, written_count=count, written_at=now)


def finish_at(series: EventSeries) -> float:
    """Return when the series is over without another occurrence."""
    return series.seen_at + SERIES_FINISH_SECONDS


def is_finished(series: EventSeries, now: float) -> bool:
    """Whether the series is over, so that the next occurrence is a new event."""
    return now >= finish_at(series)


def is_unwritten(series: EventSeries) -> bool:
    """Whether occurrences are not written yet."""
    return series.count > series.written_count


def is_write_due(series: EventSeries, now: float) -> bool:
    """Whether to write now: the first two occurrences, then every half hour, and at the end."""
    if not is_unwritten(series):
        return False
    is_refresh_due = now >= series.written_at + SERIES_REFRESH_SECONDS
    return series.written_count <= 1 or is_refresh_due or is_finished(series, now)


def take_token(bucket: EventTokenBucket | None, now: float) -> EventTokenBucket | None:
    """Return the bucket after one more new event; None if the object may have no more."""
    before = bucket or EventTokenBucket(EVENT_BURST, now)
    tokens = min(EVENT_BURST, before.tokens + (now - before.filled_at) / TOKEN_REFILL_SECONDS)
    return EventTokenBucket(tokens - 1, now) if tokens >= 1 else None


def put_bounded(table: OrderedDict[K, V], key: K, value: V) -> None:
    """Put an entry last, and remove the first one if there are too many."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > MAX_REMEMBERED:
        table.popitem(last=False)
