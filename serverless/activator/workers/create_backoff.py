"""What keeps a function from having its workers, and when to try again."""

from dataclasses import dataclass
from typing import Final

from serverless.activator.workers.runtime_api import Refused, Unfinished
from shared.v1alpha1.reasons import FunctionReason

FIRST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 30.0
REASONS: Final = {
    "insufficient_capacity": FunctionReason.NO_STOCK,
    "invalid_request": FunctionReason.INVALID_SPEC,
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """The last answer; certain where nothing is under way behind it."""

    reason: FunctionReason
    text: str
    is_certain: bool
    failures: int
    again_at: float

    @property
    def is_invalid(self) -> bool:
        """Whether only another spec helps."""
        return self.reason is FunctionReason.INVALID_SPEC


def trouble(answer: Refused | Unfinished, before: Trouble | None, now: float) -> Trouble:
    """One more answer that is no worker; each waits twice as long as the one before."""
    failures = 0 if before is None else before.failures
    pause = min(FIRST_SECONDS * 2**failures, LONGEST_SECONDS)
    if isinstance(answer, Unfinished):
        return Trouble(FunctionReason.SCALING, answer.why, False, failures + 1, now + pause)
    reason = REASONS.get(answer.code, FunctionReason.REFUSED)
    return Trouble(reason, answer.message, True, failures + 1, now + pause)
