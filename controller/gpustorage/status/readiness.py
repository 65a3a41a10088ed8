"""How a storage is, in one phase, one reason and one sentence."""

from dataclasses import dataclass, replace
from typing import Final, Self

from controller.runtime.events.event import cut
from shared.v1alpha1.phases import StoragePhase
from shared.v1alpha1.reasons import StorageReason

LONGEST_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the status will say."""

    phase: StoragePhase
    reason: StorageReason
    message: str

    @classmethod
    def ready(cls, reason: StorageReason, message: str) -> Self:
        return cls(StoragePhase.READY, reason, cut(message, LONGEST_MESSAGE))

    @classmethod
    def pending(cls, reason: StorageReason, message: str) -> Self:
        """It may still become well by itself."""
        return cls(StoragePhase.PENDING, reason, cut(message, LONGEST_MESSAGE))

    @classmethod
    def failed(cls, reason: StorageReason, message: str) -> Self:
        """Waiting will not help."""
        return cls(StoragePhase.FAILED, reason, cut(message, LONGEST_MESSAGE))

    @property
    def is_ready(self) -> bool:
        return self.phase is StoragePhase.READY

    def but(self, reason: StorageReason, message: str) -> Self:
        """The same phase for another reason."""
        return replace(self, reason=reason, message=cut(message, LONGEST_MESSAGE))
