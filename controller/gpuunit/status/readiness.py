"""How a unit is, in one phase, one reason and one sentence."""

from dataclasses import dataclass
from typing import Final, Self

from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import UnitReason

MAX_MESSAGE_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class UnitReadiness:
    """What the status will say."""

    phase: UnitPhase
    reason: UnitReason
    message: str

    @classmethod
    def ready(cls, reason: UnitReason, message: str) -> Self:
        return cls(UnitPhase.READY, reason, truncate_message(message))

    @classmethod
    def progressing(cls, reason: UnitReason, message: str) -> Self:
        """It may still become well by itself."""
        return cls(UnitPhase.PROGRESSING, reason, truncate_message(message))

    @classmethod
    def failed(cls, reason: UnitReason, message: str) -> Self:
        """Waiting will not help."""
        return cls(UnitPhase.FAILED, reason, truncate_message(message))


def truncate_message(message: str) -> str:
    """At most 1 KiB, and never half a character."""
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= MAX_MESSAGE_BYTES:
        return encoded.decode()
    return encoded[: MAX_MESSAGE_BYTES - 3].decode("utf-8", "ignore") + "..."
