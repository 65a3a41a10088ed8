"""Every way in which a record may change; whoever writes one compares and sets."""

from msgspec.structs import replace

from shared.invocation.record import InvocationRecord, InvocationRequest, InvocationResult
from shared.invocation.state import FailureClass, InvocationState


def new_record(
    request: InvocationRequest, function_uid: str, request_hash: str, now: int
) -> InvocationRecord:
    """The first record of an invocation."""
    return InvocationRecord(
        function_uid=function_uid, hash=request_hash, accepted_at=now, request=request
    )


def attempt_started(
    record: InvocationRecord, worker: str, sequence: int, now: int
) -> InvocationRecord:
    """One more attempt, by this worker on this message."""
    return replace(
        record,
        state=InvocationState.RUNNING,
        attempts=record.attempts + 1,
        worker=worker,
        sequence=sequence,
        started_at=now,
    )


def requeued(record: InvocationRecord) -> InvocationRecord:
    """Back in line after an attempt that the infrastructure has spoilt."""
    return replace(record, state=InvocationState.QUEUED, worker="", sequence=0)


def finished(
    record: InvocationRecord, state: InvocationState, result: InvocationResult, now: int
) -> InvocationRecord:
    """The outcome of the run."""
    return replace(record, state=state, result=result, finished_at=now, published=False)


def cancelling(record: InvocationRecord) -> InvocationRecord:
    """Running, but its result is no longer wanted."""
    return replace(record, state=InvocationState.CANCELLING)


def cancelled(record: InvocationRecord, now: int) -> InvocationRecord:
    """Ended because the caller asked for it."""
    why = InvocationResult(
        error="the invocation was cancelled", failure_class=FailureClass.CANCELLED
    )
    return finished(record, InvocationState.CANCELLED, why, now)


def expired(record: InvocationRecord, now: int) -> InvocationRecord:
    """Ended because its time to live has passed."""
    seconds = record.request.ttl_seconds
    why = InvocationResult(
        error=f"it was not finished within its ttlSeconds ({seconds})",
        failure_class=FailureClass.EXPIRED,
    )
    return finished(record, InvocationState.EXPIRED, why, now)


def dead_lettered(
    record: InvocationRecord, reason: str, failure_class: FailureClass, now: int
) -> InvocationRecord:
    """Given up on; the dead-letter stream tells why."""
    result = InvocationResult(error=reason, failure_class=failure_class)
    return finished(record, InvocationState.DEAD_LETTERED, result, now)


def published(record: InvocationRecord) -> InvocationRecord:
    """Final, and its outcome is in the stream of results."""
    return replace(record, published=True)


def redriven(record: InvocationRecord, now: int) -> InvocationRecord:
    """A new run with new attempts."""
    return InvocationRecord(
        function_uid=record.function_uid,
        run=record.run + 1,
        hash=record.hash,
        accepted_at=now,
        request=record.request,
    )
