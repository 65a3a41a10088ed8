"""The shared memory of a unit: GPU frameworks need more than the 64 MiB of a container."""

from typing import Any, Final

from shared.k8s.quantity import NANOS, Quantity
from shared.v1alpha1.gpuunit import GPUUnitSpec
from shared.v1alpha1.validation.mount_path import SHARED_MEMORY, normalised

VOLUME: Final = "shared-memory"


def shared_memory_volumes(spec: GPUUnitSpec) -> list[dict[str, Any]]:
    """One volume in memory, or none where a mount of the user's takes its place."""
    if _is_replaced(spec):
        return []
    return [{"name": VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": str(_size(spec))}}]


def shared_memory_mounts(spec: GPUUnitSpec) -> list[dict[str, Any]]:
    """Where that volume is seen."""
    return [] if _is_replaced(spec) else [{"name": VOLUME, "mountPath": SHARED_MEMORY}]


def _is_replaced(spec: GPUUnitSpec) -> bool:
    return any(normalised(mount.mount_path) == SHARED_MEMORY for mount in spec.storage_mounts)


def _size(spec: GPUUnitSpec) -> Quantity:
    if spec.shm_size:
        return Quantity.parse(spec.shm_size)
    half = (Quantity.parse(spec.memory).whole + 1) // 2  # never 0, which would be no limit
    return Quantity(half * NANOS)
