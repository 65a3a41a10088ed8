"""Moments as records hold them."""

from datetime import UTC, datetime

from apiserver.clock import Clock


def milliseconds(clock: Clock) -> int:
    """Now, in milliseconds since 1970."""
    return int(clock.now().timestamp() * 1000)


def moment(milliseconds: int) -> str:
    """A moment as RFC 3339 writes it; never is empty."""
    if not milliseconds:
        return ""
    found = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")
