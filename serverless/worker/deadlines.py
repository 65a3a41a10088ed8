"""When a run, and one attempt of it, must be over."""

from shared.invocation.limits import MAX_CLOCK_SKEW_SECONDS
from shared.invocation.record import InvocationRecord


def expiry_deadline(record: InvocationRecord) -> int:
    """When a run is overdue also for those whose clock is a little late."""
    return record.expires_at + MAX_CLOCK_SKEW_SECONDS * 1000


def attempt_deadline(record: InvocationRecord) -> int:
    """When the attempt that has begun must have ended, in milliseconds since 1970."""
    return min(record.started_at + record.request.timeout_seconds * 1000, expiry_deadline(record))
