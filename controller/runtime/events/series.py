"""When repeated events are one series, and when the server must hear of it: no I/O, no clock.

tools/events compares events without their note, and so loses every note but the first: the API
forbids changing it. Here another note is another event, and the limit for each object holds back
notes that never repeat. resourceVersion is not compared: each write of the object changes it, so
that an object which fails again and again would never repeat itself.
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
    """The object that an event is about, as it was then."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class EventContent:
    """What happened to whom; equal facts are one event that repeats."""

    regarding: ObjectReference
    type: EventType
    reason: str
    action: str
    note: str
    related: ObjectReference | None = None


@dataclass(frozen=True, slots=True)
class EventSeries:
    """One Event object and how often it happened; `written` of these the server knows of.

    `first` and `last` are on the wall clock, `seen_at` and `written_at` on the monotonic one.
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
    """How many new events an object may still have, as of `filled_at`."""

    tokens: float
    filled_at: float


def with_repeat(series: EventSeries, at: datetime, now: float) -> EventSeries:
    """The series after it happened once more."""
    return replace(series, last_observed=at, seen_at=now, count=series.count + 1)


def with_written(series: EventSeries, count: int, now: float) -> EventSeries:
    """The series after the server heard of `count`."""
    return replace(series, written_count=count, written_at=now)


def finish_at(series: EventSeries) -> float:
    """When the series is over unless it happens again."""
    return series.seen_at + SERIES_FINISH_SECONDS


def is_finished(series: EventSeries, now: float) -> bool:
    """Whether it has been silent for so long that the next time is a new event."""
    return now >= finish_at(series)


def is_unwritten(series: EventSeries) -> bool:
    """Whether the server knows less than we do."""
    return series.count > series.written_count


def is_write_due(series: EventSeries, now: float) -> bool:
    """Whether to write now: the first two times at once, then seldom, and once at the end."""
    if not is_unwritten(series):
        return False
    rested = now >= series.written_at + SERIES_REFRESH_SECONDS
    return series.written_count <= 1 or rested or is_finished(series, now)


def take_token(bucket: EventTokenBucket | None, now: float) -> EventTokenBucket | None:
    """The bucket of an object after one more new event; None where it may have no more."""
    had = bucket or EventTokenBucket(EVENT_BURST, now)
    tokens = min(EVENT_BURST, had.tokens + (now - had.filled_at) / TOKEN_REFILL_SECONDS)
    return EventTokenBucket(tokens - 1, now) if tokens >= 1 else None


def put_bounded(table: OrderedDict[K, V], key: K, value: V) -> None:
    """Put the entry last, and forget the first where there are too many."""
    table[key] = value
    table.move_to_end(key)
    if len(table) > MAX_REMEMBERED:
        table.popitem(last=False)
