"""Moments as Kubernetes writes them into Leases and Events."""

from datetime import UTC, datetime


def micro_time(moment: datetime) -> str:
    """A MicroTime; always with six digits, which some readers insist on."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
