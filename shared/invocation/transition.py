"""All transitions of a record; every writer of a transition compares and sets."""

from msgspec.structs import replace

from shared.invocation.record import InvocationRecord, InvocationRequest, InvocationResult
from shared.invocation.state import FailureClass, InvocationState


def new_record(
    request: InvocationRequest, function_uid: str, request_hash: str, now: int
) -> InvocationRecord:
    """Return the first record of an invocation."""
    return InvocationRecord(
        function_uid=function_uid, hash=request_hash, accepted_at=now, request=request
    )


def attempt_started(
    record: InvocationRecord, worker: str, sequence: int, now: int
) -> InvocationRecord:
    """Return the record with one more attempt, by this worker on this message."""
    return replace(
        record,
        state=InvocationState.RUNNING,
        attempts=record.attempts + 1,
        worker=worker,
        sequence=sequence,
        started_at=now,
    )


def requeued(record: InvocationRecord) -> InvocationRecord:
    """Return the record queued again after an attempt that the infrastructure interrupted."""
    return replace(record, state=InvocationState.QUEUED, worker="", sequence=0)


def finished(
    record: InvocationRecord, state: InvocationState, result: InvocationResult, now: int
) -> InvocationRecord:
    """Return the record with the outcome of the run."""
    return replace(record, state=state, result=result, finished_at=now, published=False)


def cancelling(record: InvocationRecord) -> InvocationRecord:
    """Return the record of a running invocation whose cancellation was requested."""
    return replace(record, state=InvocationState.CANCELLING)


def cancelled(record: InvocationRecord, now: int) -> InvocationRecord:
    """Return the final record of a run that the caller cancelled."""
    result = InvocationResult(
        error="the invocation was cancelled", failure_class=FailureClass.CANCELLED
    )
    return finished(record, InvocationState.CANCELLED, result, now)


def expired(record: InvocationRecord, now: int) -> InvocationRecord:
    """Return the final record of a run whose time to live has passed."""
    seconds = record.request.ttl_seconds
    result = InvocationResult(
        error=f"the invocation did not finish within its ttlSeconds ({seconds})",
        failure_class=FailureClass.EXPIRED,
    )
    return finished(record, InvocationState.EXPIRED, result, now)


def dead_lettered(
    record: InvocationRecord, reason: str, failure_class: FailureClass, now: int
) -> InvocationRecord:
    """Return the final record of a run that was given up; the dead-letter stream has the reason."""
    result = InvocationResult(error=reason, failure_class=failure_class)
    return finished(record, InvocationState.DEAD_LETTERED, result, now)


def published(record: InvocationRecord) -> InvocationRecord:
    """Return the final record with the mark that its outcome is in the stream of results."""
    return replace(record, published=True)


def redriven(record: InvocationRecord, now: int) -> InvocationRecord:
    """Return the record of a new run with new attempts."""
    return InvocationRecord(
        function_uid=record.function_uid,
        run=record.run + 1,
        hash=record.hash,
        accepted_at=now,
        request=record.request,
    )
