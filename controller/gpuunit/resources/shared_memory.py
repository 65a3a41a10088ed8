"""The shared memory of a unit: GPU frameworks need more than the 64 MiB of a container."""

from typing import Any, Final

from shared.k8s.quantity import NANOS_PER_UNIT, Quantity
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.validation.mount_path import SHARED_MEMORY_PATH, normalise_path

SHARED_MEMORY_VOLUME: Final = "shared-memory"


def shared_memory_volumes(spec: GPUUnitSpec) -> list[dict[str, Any]]:
    """One volume in memory, or none where a mount of the user's takes its place."""
    if _is_mounted_by_user(spec):
        return []
    return [
        {
            "name": SHARED_MEMORY_VOLUME,
            "emptyDir": {"medium": "Memory", "sizeLimit": str(_shared_memory_size(spec))},
        }
    ]


def shared_memory_mounts(spec: GPUUnitSpec) -> list[dict[str, Any]]:
    """Where that volume is seen."""
    return (
        []
        if _is_mounted_by_user(spec)
        else [{"name": SHARED_MEMORY_VOLUME, "mountPath": SHARED_MEMORY_PATH}]
    )


def _is_mounted_by_user(spec: GPUUnitSpec) -> bool:
    return any(
        normalise_path(mount.mount_path) == SHARED_MEMORY_PATH for mount in spec.storage_mounts
    )


def _shared_memory_size(spec: GPUUnitSpec) -> Quantity:
    if spec.shm_size:
        return Quantity.parse(spec.shm_size)
    half = (Quantity.parse(spec.memory).whole_units + 1) // 2  # never 0, which would be no limit
    return Quantity(half * NANOS_PER_UNIT)
