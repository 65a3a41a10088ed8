"""How much a claim asks for: it grows where its class lets it, and never shrinks."""

from shared.k8s.pvc import VolumeClaim
from shared.k8s.quantity import NANOS, Quantity
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage


def asked(storage: GPUStorage) -> Quantity:
    """The size of the spec in whole bytes."""
    return Quantity(Quantity.parse(storage.spec.size).whole * NANOS)


def request(storage: GPUStorage, live: VolumeClaim | None, kind: StorageClass | None) -> str:
    """What the claim shall ask for, as the server will store it."""
    if live is None or (wants_more(storage, live) and can_grow(live, kind)):
        return str(asked(storage))
    return live.request


def wants_more(storage: GPUStorage, live: VolumeClaim) -> bool:
    """Whether the spec asks for more than the claim does."""
    return asked(storage) > Quantity.parse(live.request)


def wants_less(storage: GPUStorage, live: VolumeClaim) -> bool:
    """Whether the spec asks for less than there is."""
    return asked(storage) < Quantity.parse(live.capacity or live.request)


def can_grow(live: VolumeClaim, kind: StorageClass | None) -> bool:
    """Only a volume that is there can grow, and only if its class says so."""
    return live.is_bound and kind is not None and kind.allow_volume_expansion


def is_growing(live: VolumeClaim) -> bool:
    """Whether the volume does not hold yet what the claim asks for."""
    return live.is_bound and Quantity.parse(live.request) > Quantity.parse(live.capacity or "0")
