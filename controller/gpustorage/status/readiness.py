"""How a storage is, in one phase, one reason and one sentence."""

from dataclasses import dataclass, replace
from typing import Final, Self

from controller.runtime.events.event import truncate
from shared.v1alpha1.phases import StoragePhase
from shared.v1alpha1.reasons import StorageReason

MAX_MESSAGE_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class StorageReadiness:
    """What the status will say."""

    phase: StoragePhase
    reason: StorageReason
    message: str

    @classmethod
    def ready(cls, reason: StorageReason, message: str) -> Self:
        return cls(StoragePhase.READY, reason, truncate(message, MAX_MESSAGE_BYTES))

    @classmethod
    def pending(cls, reason: StorageReason, message: str) -> Self:
        """It may still become well by itself."""
        return cls(StoragePhase.PENDING, reason, truncate(message, MAX_MESSAGE_BYTES))

    @classmethod
    def failed(cls, reason: StorageReason, message: str) -> Self:
        """Waiting will not help."""
        return cls(StoragePhase.FAILED, reason, truncate(message, MAX_MESSAGE_BYTES))

    @property
    def is_ready(self) -> bool:
        return self.phase is StoragePhase.READY

    def with_reason(self, reason: StorageReason, message: str) -> Self:
        """The same phase for another reason."""
        return replace(self, reason=reason, message=truncate(message, MAX_MESSAGE_BYTES))
