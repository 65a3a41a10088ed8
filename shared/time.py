"""Conversion of times to the text and the milliseconds in objects, records and messages."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

from msgspec import Meta

from shared.clock import Clock

MAX_MILLISECONDS: Final = 253_402_300_799_999  # the end of the year 9999

# Milliseconds since 1970, 0 for never. A number outside the range of times cannot be formatted, so
# decoding fails: workers write records, and a bad one must not break the lists of all functions.
UnixMilliseconds = Annotated[int, Meta(ge=0, le=MAX_MILLISECONDS)]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def format_timestamp(time: datetime) -> str:
    """Format a UTC time as Kubernetes writes it, to the second."""
    return time.strftime(_SECONDS_FORMAT)


def parse_timestamp(text: str) -> datetime:
    """Parse a time as Kubernetes writes it; raises ValueError."""
    return datetime.strptime(text, _SECONDS_FORMAT).replace(tzinfo=UTC)


def now_ms(clock: Clock) -> int:
    """Return the time of the clock in milliseconds since 1970."""
    return datetime_to_ms(clock.now())


def datetime_to_ms(time: datetime) -> int:
    """Convert a time to milliseconds since 1970, rounded down."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def ms_to_datetime(milliseconds: int) -> datetime:
    """Convert milliseconds since 1970 to a UTC time."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def timestamp_to_ms(text: str | None) -> int:
    """Convert a time as Kubernetes writes it to milliseconds since 1970; 0 for None and empty."""
    return datetime_to_ms(parse_timestamp(text)) if text else 0


def format_ms(milliseconds: int) -> str:
    """Format milliseconds since 1970 as RFC 3339, to the millisecond; empty for 0 (never)."""
    if not milliseconds:
        return ""
    text = ms_to_datetime(milliseconds).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
