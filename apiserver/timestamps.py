"""Moments as records hold them."""

from datetime import UTC, datetime

from apiserver.clock import Clock


def now_milliseconds(clock: Clock) -> int:
    """Now, in milliseconds since 1970."""
    return int(clock.now().timestamp() * 1000)


def format_milliseconds(epoch_milliseconds: int) -> str:
    """A moment as RFC 3339 writes it; never is empty."""
    if not epoch_milliseconds:
        return ""
    found = datetime.fromtimestamp(epoch_milliseconds / 1000, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
