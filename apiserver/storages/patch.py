"""What a change of a storage writes, and what it may not be."""

from typing import Any

from apiserver.commands import ChangeStorage, Unset
from apiserver.details import describe_problem
from apiserver.errors import ErrorDetail, InvalidRequestError
from apiserver.units.patch import label_replacement_patch, replacement_patch
from shared.k8s.quantity import Quantity
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.validation.problem import Problem


def require_no_shrink(storage: GPUStorage, size: str | Unset) -> None:
    """Refuse a size below what the volume holds: volumes never shrink."""
    capacity = storage.status.capacity
    if isinstance(size, Unset) or not capacity or not is_size_changed(storage, size):
        return
    if Quantity.parse(size) < Quantity.parse(capacity):
        message = describe_problem(Problem("", size, f"is below the capacity, which is {capacity}"))
        raise InvalidRequestError(
            "a storage cannot shrink", details=(ErrorDetail("size", message),)
        )


def is_growing(storage: GPUStorage, size: str | Unset) -> bool:
    """Whether the size asks for a larger volume than there is."""
    if isinstance(size, Unset) or not is_size_changed(storage, size):
        return False
    known = parse_size(storage.status.capacity or storage.spec.size)
    return known is not None and Quantity.parse(size) > known


def change_patch(storage: GPUStorage, command: ChangeStorage) -> dict[str, Any]:
    """A merge patch for the storage as it was read."""
    spec: dict[str, Any] = {}
    if not isinstance(command.size, Unset):
        spec["size"] = command.size
    if not isinstance(command.accessor, Unset):
        spec["accessor"] = replacement_patch(storage.spec.accessor, command.accessor)
    metadata: dict[str, Any] = {
        "uid": storage.metadata.uid,
        "resourceVersion": storage.metadata.resource_version,
    }
    if not isinstance(command.labels, Unset):
        metadata["labels"] = label_replacement_patch(storage.metadata.labels, command.labels or {})
    return {"metadata": metadata, **({"spec": spec} if spec else {})}


def is_size_changed(storage: GPUStorage, size: str) -> bool:
    return Quantity.parse(size) != parse_size(storage.spec.size)


def parse_size(size: str) -> Quantity | None:
    """None for a size that was written by hand and is beyond all volumes."""
    try:
        return Quantity.parse(size)
    except ValueError:
        return None
