"""Readiness of a storage."""

from typing import Self

from shared.k8s.readiness import Readiness
from shared.v1alpha1.phases import StoragePhase
from shared.v1alpha1.reasons import StorageReason


class StorageReadiness(Readiness[StoragePhase, StorageReason]):
    """Readiness of a storage, as its status reports it."""

    __slots__ = ()

    @classmethod
    def ready(cls, reason: StorageReason, message: str) -> Self:
        """Create the readiness of a storage that units can mount."""
        return cls.new(StoragePhase.READY, reason, message)

    @classmethod
    def pending(cls, reason: StorageReason, message: str) -> Self:
        """Create the readiness of a storage that may become ready without a change of its spec."""
        return cls.new(StoragePhase.PENDING, reason, message)

    @classmethod
    def failed(cls, reason: StorageReason, message: str) -> Self:
        """Create the readiness of a storage that stays failed until a user acts."""
        return cls.new(StoragePhase.FAILED, reason, message)

    def with_reason(self, reason: StorageReason, message: str) -> Self:
        """Return a readiness of the same phase with another reason and message."""
        return self.new(self.phase, reason, message)
