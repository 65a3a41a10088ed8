"""The times at which a run and an attempt must have ended."""

from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.record import InvocationRecord


def expiry_deadline(record: InvocationRecord) -> int:
    """Return when a run is expired for every clock within the allowed skew."""
    return record.expires_at + MAX_CLOCK_SKEW_SECONDS * 1000


def attempt_deadline(record: InvocationRecord) -> int:
    """Return when the running attempt must have ended, in milliseconds since 1970."""
    return min(record.started_at + record.request.timeout_seconds * 1000, expiry_deadline(record))
