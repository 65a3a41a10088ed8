"""The readiness of an object, and the conditions that report it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Final, Generic, Self, TypeVar

from shared.k8s.meta import Condition
from shared.time import format_timestamp

PhaseT = TypeVar("PhaseT", bound=StrEnum)
ReasonT = TypeVar("ReasonT", bound=StrEnum)

MAX_MESSAGE_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class Readiness(Generic[PhaseT, ReasonT]):
    """Phase, reason and message that a status reports of an object.

    `READY_PHASES` are the phases in which the condition Ready is true. `ELLIPSIS` ends a message
    that `new` has cut.
    """

    READY_PHASES: ClassVar[tuple[str, ...]] = ("Ready",)
    ELLIPSIS: ClassVar[str] = ""

    phase: PhaseT
    reason: ReasonT
    message: str

    @classmethod
    def new(cls, phase: PhaseT, reason: ReasonT, message: str) -> Self:
        """Create a readiness whose message fits into a condition."""
        return cls(phase, reason, truncate_message(message, cls.ELLIPSIS))

    @property
    def is_ready(self) -> bool:
        """Return whether the condition Ready is true."""
        return self.phase in self.READY_PHASES


def new_condition(
    condition_type: str,
    *,
    is_true: bool,
    reason: str,
    message: str,
    observed_generation: int,
    now: datetime,
) -> Condition:
    """Create a condition; the message is cut to `MAX_MESSAGE_BYTES`."""
    return Condition(
        type=str(condition_type),
        status="True" if is_true else "False",
        observed_generation=observed_generation,
        last_transition_time=format_timestamp(now),
        reason=str(reason),
        message=truncate_message(message),
    )


def truncate_message(message: str, ellipsis: str = "") -> str:
    """Cut a message to `MAX_MESSAGE_BYTES` of UTF-8 at the end of a character.

    Characters that cannot be encoded are replaced. A message that was cut ends with `ellipsis`.
    """
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= MAX_MESSAGE_BYTES:
        return encoded.decode()
    truncated = encoded[: MAX_MESSAGE_BYTES - len(ellipsis)]
    return truncated.decode("utf-8", "ignore") + ellipsis
