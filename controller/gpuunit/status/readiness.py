"""How a unit is, in one phase, one reason and one sentence."""

from dataclasses import dataclass
from typing import Final, Self

from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import UnitReason

LONGEST_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the status will say."""

    phase: UnitPhase
    reason: UnitReason
    message: str

    @classmethod
    def ready(cls, reason: UnitReason, message: str) -> Self:
        return cls(UnitPhase.READY, reason, cut(message))

    @classmethod
    def progressing(cls, reason: UnitReason, message: str) -> Self:
        """It may still become well by itself."""
        return cls(UnitPhase.PROGRESSING, reason, cut(message))

    @classmethod
    def failed(cls, reason: UnitReason, message: str) -> Self:
        """Waiting will not help."""
        return cls(UnitPhase.FAILED, reason, cut(message))


def cut(message: str) -> str:
    """At most 1 KiB, and never half a character."""
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= LONGEST_MESSAGE:
        return encoded.decode()
    return encoded[: LONGEST_MESSAGE - 3].decode("utf-8", "ignore") + "..."
