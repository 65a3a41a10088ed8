"""Converts times to milliseconds since 1970."""

from datetime import UTC, datetime

from controller.runtime.clock import Clock


def now_ms(clock: Clock) -> int:
    """Return the time of the clock in milliseconds since 1970."""
    return int(clock.now().timestamp() * 1000)


def parse_timestamp_ms(text: str | None) -> int:
    """Return a time of Kubernetes in milliseconds since 1970; 0 for None or an empty text."""
    if not text:
        return 0
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp() * 1000)
