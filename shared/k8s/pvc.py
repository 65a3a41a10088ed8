"""PersistentVolumeClaims, as far as we read them."""

from typing import Any, Final

import msgspec

from shared.k8s.meta import ObjectMeta

PHASE_BOUND: Final = "Bound"
PHASE_LOST: Final = "Lost"


class PersistentVolumeClaimStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What was given to the claim."""

    phase: str = ""
    capacity: dict[str, str] = {}


class PersistentVolumeClaim(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A volume that is asked for; the spec stays as it came, to be compared with ours."""

    metadata: ObjectMeta
    spec: dict[str, Any] = {}
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()

    @property
    def requested_storage(self) -> str:
        """How much was asked for."""
        asked: str = self.spec.get("resources", {}).get("requests", {}).get("storage", "0")
        return asked

    @property
    def storage_class_name(self) -> str:
        """The StorageClass; empty where there is none (yet)."""
        return self.spec.get("storageClassName") or ""

    @property
    def capacity(self) -> str:
        """How much the volume holds; empty while there is none."""
        return self.status.capacity.get("storage", "") if self.is_bound else ""

    @property
    def is_bound(self) -> bool:
        """Whether there is a volume."""
        return self.status.phase == PHASE_BOUND
