"""What a change of a storage writes, and what it may not be."""

from typing import Any

from apiserver.commands import ChangeStorage, Unset
from apiserver.details import words
from apiserver.errors import Detail, InvalidRequestError
from apiserver.units.patch import replaced, replaced_labels
from shared.k8s.quantity import Quantity
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.validation.problem import Problem


def require_size(storage: GPUStorage, size: str | Unset) -> None:
    """Refuse a size below what the volume holds: volumes never shrink."""
    capacity = storage.status.capacity
    if isinstance(size, Unset) or not capacity or not is_resized(storage, size):
        return
    if Quantity.parse(size) < Quantity.parse(capacity):
        message = words(Problem("", size, f"is below the capacity, which is {capacity}"))
        raise InvalidRequestError("a storage cannot shrink", details=(Detail("size", message),))


def grows(storage: GPUStorage, size: str | Unset) -> bool:
    """Whether the size asks for a larger volume than there is."""
    if isinstance(size, Unset) or not is_resized(storage, size):
        return False
    known = read(storage.status.capacity or storage.spec.size)
    return known is not None and Quantity.parse(size) > known


def change_patch(storage: GPUStorage, command: ChangeStorage) -> dict[str, Any]:
    """A merge patch for the storage as it was read."""
    spec: dict[str, Any] = {}
    if not isinstance(command.size, Unset):
        spec["size"] = command.size
    if not isinstance(command.accessor, Unset):
        spec["accessor"] = replaced(storage.spec.accessor, command.accessor)
    metadata: dict[str, Any] = {
        "uid": storage.metadata.uid,
        "resourceVersion": storage.metadata.resource_version,
    }
    if not isinstance(command.labels, Unset):
        metadata["labels"] = replaced_labels(storage.metadata.labels, command.labels or {})
    return {"metadata": metadata, **({"spec": spec} if spec else {})}


def is_resized(storage: GPUStorage, size: str) -> bool:
    return Quantity.parse(size) != read(storage.spec.size)


def read(size: str) -> Quantity | None:
    """None for a size that was written by hand and is beyond all volumes."""
    try:
        return Quantity.parse(size)
    except ValueError:
        return None
