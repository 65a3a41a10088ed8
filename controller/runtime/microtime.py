"""MicroTime: the timestamps of Leases and Events."""

from datetime import UTC, datetime


def format_micro_time(time: datetime) -> str:
    """Format a MicroTime; always with six fraction digits, as some parsers require."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
