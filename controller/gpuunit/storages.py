"""Whether the storages that a unit mounts are there."""

from controller.caches import Caches
from controller.runtime.key import ObjectKey
from shared.phases import StoragePhase
from shared.v1alpha1.gpuunit import GPUUnit


def unready_storages(unit: GPUUnit, caches: Caches) -> list[str]:
    """One sentence for each storage that keeps the unit waiting."""
    waiting = []
    for mount in unit.spec.storage_mounts:
        found = caches.storages.get(ObjectKey(unit.metadata.namespace, mount.name))
        if found is None:
            waiting.append(f"GPUStorage {mount.name} does not exist (yet)")
        elif found.status.phase != StoragePhase.READY:
            phase = found.status.phase or StoragePhase.PENDING.value
            waiting.append(f"GPUStorage {mount.name} is not ready: it is {phase}")
    return waiting
