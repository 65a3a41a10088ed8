"""What a call of the framework means for the run: an outcome, or another attempt."""

from dataclasses import dataclass

from serverless.worker.framework.result import (
    Answer,
    BodyLost,
    Garbage,
    Gone,
    Heard,
    Late,
    TooLarge,
    Unwanted,
)
from shared.invocation.limits import MAX_PAYLOAD_BYTES
from shared.invocation.record import Record, Result
from shared.invocation.state import FailureClass, State


@dataclass(frozen=True, slots=True)
class Outcome:
    """The run is over; `body` is kept beside the result, which does not hold it yet."""

    state: State
    result: Result
    body: bytes | bytearray = b""


@dataclass(frozen=True, slots=True)
class Again:
    """The run needs another attempt."""

    why: str


def verdict(record: Record, heard: Heard, now: int) -> Outcome | Again:
    """The outcome of the attempt that `record` tells of; the last one cannot be repeated."""
    match heard:
        case Answer():
            return _answered(record, heard)
        case Gone(why):
            return _without_answer(record, why)
        case Late():
            return _late(record, now)
        case Garbage(why):
            return _failed(why, FailureClass.FRAMEWORK_PROTOCOL)
        case _:
            return _unusable(heard)


def _unusable(heard: TooLarge | Unwanted | BodyLost) -> Outcome:
    match heard:
        case TooLarge():
            why = f"the result is larger than {MAX_PAYLOAD_BYTES} bytes"
            return _failed(why, FailureClass.RESULT_TOO_LARGE)
        case BodyLost():
            return _failed("the payload is no longer kept", FailureClass.BODY_LOST)
        case Unwanted():
            why = "the invocation was cancelled"
            return _failed(why, FailureClass.CANCELLED, State.CANCELLED)


def _late(record: Record, now: int) -> Outcome:
    if now >= record.overdue_at:
        why = f"it was not finished within its ttlSeconds ({record.request.ttl_seconds})"
        return _failed(why, FailureClass.EXPIRED, State.EXPIRED)
    why = f"it ran longer than its timeoutSeconds ({record.request.timeout_seconds})"
    return _failed(why, FailureClass.TIMEOUT)


def _answered(record: Record, answer: Answer) -> Outcome | Again:
    if answer.status < 400:
        return Outcome(State.SUCCEEDED, _result(answer), answer.body)
    why = f"the function answered with status {answer.status}"
    if not answer.retryable:
        result = _result(answer, why, FailureClass.FRAMEWORK_ERROR)
        return Outcome(State.FAILED, result, answer.body)
    if not _is_last(record):
        return Again(why)
    result = _result(answer, _used_up(record, why), FailureClass.ATTEMPTS_EXHAUSTED)
    return Outcome(State.DEAD_LETTERED, result, answer.body)


def _without_answer(record: Record, why: str) -> Outcome | Again:
    if not _is_last(record):
        return Again(why)
    text = _used_up(record, why)
    return _failed(text, FailureClass.ATTEMPTS_EXHAUSTED, State.DEAD_LETTERED)


def _is_last(record: Record) -> bool:
    return record.attempts >= record.request.max_attempts


def _used_up(record: Record, why: str) -> str:
    return f"{record.attempts} attempts have come to nothing; the last: {why}"


def _failed(why: str, failure_class: FailureClass, state: State = State.FAILED) -> Outcome:
    return Outcome(state, Result(error=why, failure_class=failure_class))


def _result(answer: Answer, error: str = "", failure_class: str = "") -> Result:
    return Result(
        status_code=answer.status,
        content_type=answer.content_type,
        headers=answer.headers,
        error=error,
        failure_class=failure_class,
    )
