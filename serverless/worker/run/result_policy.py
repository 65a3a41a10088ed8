"""Decides what the result of a framework call means for the run: an outcome or a retry."""

from dataclasses import dataclass

from serverless.worker.framework.result import (
    CallCancelled,
    DeadlineExceeded,
    FrameworkResponse,
    FrameworkResult,
    InvalidResponse,
    NoResponse,
    PayloadLost,
    ResponseTooLarge,
)
from shared.invocation.limits import MAX_PAYLOAD_BYTES
from shared.invocation.record import InvocationRecord, InvocationResult
from shared.invocation.state import FailureClass, InvocationState


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The run is over; `body` is stored beside the result, which does not contain it yet."""

    state: InvocationState
    result: InvocationResult
    body: bytes | bytearray = b""


@dataclass(frozen=True, slots=True)
class Retry:
    """The run needs another attempt."""

    reason: str


def decide_result(
    record: InvocationRecord, framework_result: FrameworkResult, now: int
) -> RunOutcome | Retry:
    """Return the outcome of an attempt, or a retry unless it is the last attempt."""
    match framework_result:
        case FrameworkResponse():
            return _decide_response(record, framework_result)
        case NoResponse(reason):
            return _decide_no_response(record, reason)
        case DeadlineExceeded():
            return _decide_late(record, now)
        case InvalidResponse(reason):
            return _failure(reason, FailureClass.FRAMEWORK_PROTOCOL)
        case _:
            return _decide_failed_call(framework_result)


def _decide_failed_call(
    framework_result: ResponseTooLarge | CallCancelled | PayloadLost,
) -> RunOutcome:
    match framework_result:
        case ResponseTooLarge():
            error = f"the result is larger than {MAX_PAYLOAD_BYTES} bytes"
            return _failure(error, FailureClass.RESULT_TOO_LARGE)
        case PayloadLost():
            return _failure("the payload no longer exists", FailureClass.BODY_LOST)
        case CallCancelled():
            error = "the invocation was cancelled"
            return _failure(error, FailureClass.CANCELLED, InvocationState.CANCELLED)


def _decide_late(record: InvocationRecord, now: int) -> RunOutcome:
    if now >= record.expires_at:
        error = (
            f"the invocation did not finish within its ttlSeconds ({record.request.ttl_seconds})"
        )
        return _failure(error, FailureClass.EXPIRED, InvocationState.EXPIRED)
    error = f"it ran longer than its timeoutSeconds ({record.request.timeout_seconds})"
    return _failure(error, FailureClass.TIMEOUT)


def _decide_response(record: InvocationRecord, response: FrameworkResponse) -> RunOutcome | Retry:
    if response.status < 400:
        return RunOutcome(InvocationState.SUCCEEDED, _result_of(response), response.body)
    error = f"the function responded with status {response.status}"
    if not response.is_retryable:
        result = _result_of(response, error, FailureClass.FRAMEWORK_ERROR)
        return RunOutcome(InvocationState.FAILED, result, response.body)
    if not _is_last_attempt(record):
        return Retry(error)
    result = _result_of(response, _exhausted_text(record, error), FailureClass.ATTEMPTS_EXHAUSTED)
    return RunOutcome(InvocationState.DEAD_LETTERED, result, response.body)


def _decide_no_response(record: InvocationRecord, reason: str) -> RunOutcome | Retry:
    if not _is_last_attempt(record):
        return Retry(reason)
    text = _exhausted_text(record, reason)
    return _failure(text, FailureClass.ATTEMPTS_EXHAUSTED, InvocationState.DEAD_LETTERED)


def _is_last_attempt(record: InvocationRecord) -> bool:
    return record.attempts >= record.request.max_attempts


def _exhausted_text(record: InvocationRecord, reason: str) -> str:
    return f"all attempts failed ({record.attempts}); the last: {reason}"


def _failure(
    error: str, failure_class: FailureClass, state: InvocationState = InvocationState.FAILED
) -> RunOutcome:
    return RunOutcome(state, InvocationResult(error=error, failure_class=failure_class))


def _result_of(
    response: FrameworkResponse, error: str = "", failure_class: str = ""
) -> InvocationResult:
    return InvocationResult(
        status_code=response.status,
        content_type=response.content_type,
        headers=response.headers,
        error=error,
        failure_class=failure_class,
    )
