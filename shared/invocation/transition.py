"""Every way in which a record may change; whoever writes one compares and sets."""

from msgspec.structs import replace

from shared.invocation.record import Record, Request, Result
from shared.invocation.state import FailureClass, State


def accepted(request: Request, function_uid: str, hash_: str, now: int) -> Record:
    """The first record of an invocation."""
    return Record(function_uid=function_uid, hash=hash_, accepted_at=now, request=request)


def begun(record: Record, worker: str, sequence: int, now: int) -> Record:
    """One more attempt, by this worker on this message."""
    return replace(
        record,
        state=State.RUNNING,
        attempts=record.attempts + 1,
        worker=worker,
        sequence=sequence,
        started_at=now,
    )


def released(record: Record) -> Record:
    """Back in line after an attempt that the infrastructure has spoilt."""
    return replace(record, state=State.QUEUED, worker="", sequence=0)


def finished(record: Record, state: State, result: Result, now: int) -> Record:
    """The outcome of the run."""
    return replace(record, state=state, result=result, finished_at=now, published=False)


def cancelling(record: Record) -> Record:
    """Running, but its result is no longer wanted."""
    return replace(record, state=State.CANCELLING)


def cancelled(record: Record, now: int) -> Record:
    """Ended because the caller asked for it."""
    why = Result(error="the invocation was cancelled", failure_class=FailureClass.CANCELLED)
    return finished(record, State.CANCELLED, why, now)


def expired(record: Record, now: int) -> Record:
    """Ended because its time to live has passed."""
    seconds = record.request.ttl_seconds
    why = Result(
        error=f"it was not finished within its ttlSeconds ({seconds})",
        failure_class=FailureClass.EXPIRED,
    )
    return finished(record, State.EXPIRED, why, now)


def dead_lettered(record: Record, why: str, failure_class: FailureClass, now: int) -> Record:
    """Given up on; the dead-letter stream tells why."""
    result = Result(error=why, failure_class=failure_class)
    return finished(record, State.DEAD_LETTERED, result, now)


def published(record: Record) -> Record:
    """Final, and its outcome is in the stream of results."""
    return replace(record, published=True)


def redriven(record: Record, now: int) -> Record:
    """A new run with new attempts."""
    return Record(
        function_uid=record.function_uid,
        run=record.run + 1,
        hash=record.hash,
        accepted_at=now,
        request=record.request,
    )
