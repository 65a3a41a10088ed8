"""How much a claim asks for: it grows where its class lets it, and never shrinks."""

from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.quantity import NANOS_PER_UNIT, Quantity
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage


def requested_size(storage: GPUStorage) -> Quantity:
    """The size of the spec in whole bytes."""
    return Quantity(Quantity.parse(storage.spec.size).whole_units * NANOS_PER_UNIT)


def desired_pvc_size(
    storage: GPUStorage, pvc: PersistentVolumeClaim | None, storage_class: StorageClass | None
) -> str:
    """What the claim shall ask for, as the server will store it."""
    if pvc is None or (is_expansion_requested(storage, pvc) and is_expandable(pvc, storage_class)):
        return str(requested_size(storage))
    return pvc.requested_storage


def is_expansion_requested(storage: GPUStorage, pvc: PersistentVolumeClaim) -> bool:
    """Whether the spec asks for more than the claim does."""
    return requested_size(storage) > Quantity.parse(pvc.requested_storage)


def is_shrink_requested(storage: GPUStorage, pvc: PersistentVolumeClaim) -> bool:
    """Whether the spec asks for less than there is."""
    return requested_size(storage) < Quantity.parse(pvc.capacity or pvc.requested_storage)


def is_expandable(pvc: PersistentVolumeClaim, storage_class: StorageClass | None) -> bool:
    """Only a volume that is there can grow, and only if its class says so."""
    return pvc.is_bound and storage_class is not None and storage_class.allow_volume_expansion


def is_expanding(pvc: PersistentVolumeClaim) -> bool:
    """Whether the volume does not hold yet what the claim asks for."""
    return pvc.is_bound and Quantity.parse(pvc.requested_storage) > Quantity.parse(
        pvc.capacity or "0"
    )
