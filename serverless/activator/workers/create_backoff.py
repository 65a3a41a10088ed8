"""The last failure to create a worker, and the time of the retry."""

from dataclasses import dataclass
from typing import Final

from serverless.activator.workers.runtime_api import Pending, Rejected
from shared.v1alpha1.reasons import FunctionReason

MIN_BACKOFF_SECONDS: Final = 1.0
MAX_BACKOFF_SECONDS: Final = 30.0
REASON_BY_CODE: Final = {
    "insufficient_capacity": FunctionReason.INSUFFICIENT_STOCK,
    "invalid_request": FunctionReason.INVALID_SPEC,
}


@dataclass(frozen=True, slots=True)
class CreateFailure:
    """The last response; it is definite if no operation is running."""

    reason: FunctionReason
    message: str
    is_definite: bool
    failures: int
    retry_at: float

    @property
    def is_invalid(self) -> bool:
        """Whether the spec must be changed."""
        return self.reason is FunctionReason.INVALID_SPEC


def next_create_failure(
    response: Rejected | Pending, previous: CreateFailure | None, now: float
) -> CreateFailure:
    """Return the failure of one more response; each delay is twice the one before."""
    failures = 0 if previous is None else previous.failures
    delay = min(MIN_BACKOFF_SECONDS * 2**failures, MAX_BACKOFF_SECONDS)
    if isinstance(response, Pending):
        return CreateFailure(
            FunctionReason.SCALING, response.reason, False, failures + 1, now + delay
        )
    reason = REASON_BY_CODE.get(response.code, FunctionReason.WORKER_REFUSED)
    return CreateFailure(reason, response.message, True, failures + 1, now + delay)
