"""The states of an invocation."""

from enum import StrEnum
from typing import Final


class InvocationState(StrEnum):
    """The state of an invocation; the last five states are final for a run."""

    QUEUED = "queued"
    RUNNING = "running"
    CANCELLING = "cancelling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    DEAD_LETTERED = "dead_lettered"


class FailureClass(StrEnum):
    """The class of a failure of an invocation; the value is part of the API."""

    FRAMEWORK_ERROR = "framework_error"
    FRAMEWORK_PROTOCOL = "framework_protocol"
    TIMEOUT = "timeout"
    RESULT_TOO_LARGE = "result_too_large"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    FUNCTION_DELETED = "function_deleted"
    BODY_LOST = "body_lost"
    RECORD_LOST = "record_lost"
    UNREADABLE = "unreadable"


FINAL_STATES: Final = frozenset(
    {
        InvocationState.SUCCEEDED,
        InvocationState.FAILED,
        InvocationState.EXPIRED,
        InvocationState.CANCELLED,
        InvocationState.DEAD_LETTERED,
    }
)
