"""PersistentVolumeClaims, limited to the fields that the programs read."""

from typing import Any, Final

import msgspec

from shared.k8s.meta import ObjectMeta

PHASE_BOUND: Final = "Bound"
PHASE_LOST: Final = "Lost"


class PersistentVolumeClaimStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The size of the volume that is bound to the PVC, and the phase."""

    phase: str = ""
    capacity: dict[str, str] = {}


class PersistentVolumeClaim(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The request for a volume.

    The spec stays undecoded, so that it can be compared with the applied one.
    """

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def requested_storage(self) -> str:
        """Return the requested size."""
        size: str = self.spec.get("resources", {}).get("requests", {}).get("storage", "0")
        return size

    @property
    def storage_class_name(self) -> str:
        """Return the StorageClass; empty while there is none."""
        return self.spec.get("storageClassName") or ""

    @property
    def capacity(self) -> str:
        """Return the size of the volume; empty while there is none."""
        return self.status.capacity.get("storage", "") if self.is_bound else ""

    @property
    def is_bound(self) -> bool:
        """Return whether a volume is bound."""
        return self.status.phase == PHASE_BOUND
