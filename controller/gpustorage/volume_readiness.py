"""How the volume of a storage is, apart from what is in it."""

from controller.gpustorage.resources.size import can_grow, is_growing, wants_less, wants_more
from controller.gpustorage.status.readiness import Verdict
from shared.k8s.pvc import LOST, VolumeClaim
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.reasons import StorageReason
from shared.v1alpha1.storage_lock import lock_of


def volume_verdict(
    storage: GPUStorage, claim: VolumeClaim | None, kind: StorageClass | None
) -> Verdict:
    """Ready when there is a volume, or will be one as soon as it is mounted."""
    if claim is None:
        return Verdict.pending(StorageReason.VOLUME_PENDING, "the volume is being asked for")
    if claim.metadata.deletion_timestamp is not None:
        said = f"PersistentVolumeClaim {claim.metadata.name} is being deleted, and its data with it"
        return Verdict.failed(StorageReason.VOLUME_LOST, said)
    if claim.status.phase == LOST:
        said = f"the volume of PersistentVolumeClaim {claim.metadata.name} is gone"
        return Verdict.failed(StorageReason.VOLUME_LOST, said)
    if not is_usable(claim, kind):
        return Verdict.pending(StorageReason.VOLUME_PENDING, waiting(claim, kind))
    return sized(storage, claim, kind)


def is_usable(claim: VolumeClaim, kind: StorageClass | None) -> bool:
    """Whether a pod that mounts the claim will get its volume."""
    return claim.is_bound or (kind is not None and kind.waits_for_a_pod)


def waiting(claim: VolumeClaim, kind: StorageClass | None) -> str:
    if not claim.class_name:
        return "no StorageClass is named, and the cluster has no default one"
    if kind is None:
        return f"StorageClass {claim.class_name} does not exist (yet)"
    return f"a volume of StorageClass {claim.class_name} is being made"


def sized(storage: GPUStorage, claim: VolumeClaim, kind: StorageClass | None) -> Verdict:
    """A usable volume, and what became of a change of its size."""
    holds = "the volume is made when it is first mounted"
    if claim.is_bound:
        holds = f"the volume holds {claim.capacity}"
    ready = Verdict.ready(StorageReason.READY, holds)
    if wants_more(storage, claim) and claim.is_bound and not can_grow(claim, kind):
        said = (
            f"StorageClass {claim.class_name} cannot grow volumes: {holds}, not "
            f"{storage.spec.size}; set size back"
        )
        return ready.but(StorageReason.EXPANSION_NOT_SUPPORTED, said)
    if is_growing(claim):
        return ready.but(StorageReason.READY, f"{holds} and grows to {claim.request}")
    if wants_less(storage, claim):
        said = f"{holds}; it cannot shrink to {storage.spec.size}"
        return ready.but(StorageReason.READY, said)
    return ready


def was_made(storage: GPUStorage) -> bool:
    """Whether there was a claim before: one made anew would pass, empty, for what is lost.

    A lock says nothing of that, as it may be older than the claim; but that of the filling does,
    which can begin before the claim is recorded.
    """
    lock = lock_of(storage.metadata.annotations)
    is_being_filled = lock is not None and lock.prepare == storage.metadata.name
    return bool(storage.status.claim_name) or is_being_filled


def lost(storage: GPUStorage) -> Verdict:
    """What is said of a storage whose claim somebody has deleted."""
    said = (
        f"PersistentVolumeClaim {storage.metadata.name} was deleted, and its data with it; "
        "delete the storage and make another"
    )
    return Verdict.failed(StorageReason.VOLUME_LOST, said)
