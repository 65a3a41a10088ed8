"""Moments as Kubernetes writes them into Leases and Events."""

from datetime import UTC, datetime


def format_micro_time(time: datetime) -> str:
    """A MicroTime; always with six digits, which some readers insist on."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
