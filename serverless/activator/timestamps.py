"""Moments as integers, between Kubernetes' text and the records' milliseconds."""

from datetime import UTC, datetime

from controller.runtime.clock import Clock


def now_ms(clock: Clock) -> int:
    """Now, in milliseconds since 1970."""
    return int(clock.now().timestamp() * 1000)


def parse_timestamp_ms(text: str | None) -> int:
    """A moment as Kubernetes writes it; 0 where there is none."""
    if not text:
        return 0
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp() * 1000)
