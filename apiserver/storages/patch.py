"""Merge patches for storages, and the limits of a change of the size."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import UnsetType

from apiserver.errors import ErrorDetail, InvalidRequestError, describe_problem
from apiserver.storages.commands import ChangeStorage
from apiserver.units.patch import label_replacement_patch, replacement_patch
from shared.k8s.quantity import Quantity
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.validation.problem import Problem

DEFAULT_CLASS_ANNOTATION: Final = "storageclass.kubernetes.io/is-default-class"


def require_no_shrink(storage: GPUStorage, size: str | UnsetType) -> None:
    """Raise InvalidRequestError for a size below the capacity of the volume."""
    capacity = storage.status.capacity
    if isinstance(size, UnsetType) or not capacity or not is_size_changed(storage, size):
        return
    if Quantity.parse(size) < Quantity.parse(capacity):
        message = describe_problem(Problem("", size, f"is below the capacity, which is {capacity}"))
        raise InvalidRequestError(
            "a storage cannot shrink", details=(ErrorDetail("size", message),)
        )


def is_growing(storage: GPUStorage, size: str | UnsetType) -> bool:
    """Return whether the size requires a larger volume."""
    if isinstance(size, UnsetType) or not is_size_changed(storage, size):
        return False
    current = parse_size(storage.status.capacity or storage.spec.size)
    return current is not None and Quantity.parse(size) > current


def change_patch(storage: GPUStorage, command: ChangeStorage) -> dict[str, Any]:
    """Return the merge patch of a change, at the version of the storage that was read."""
    spec: dict[str, Any] = {}
    if not isinstance(command.size, UnsetType):
        spec["size"] = command.size
    if not isinstance(command.accessor, UnsetType):
        spec["accessor"] = replacement_patch(storage.spec.accessor, command.accessor)
    metadata: dict[str, Any] = {
        "uid": storage.metadata.uid,
        "resourceVersion": storage.metadata.resource_version,
    }
    if not isinstance(command.labels, UnsetType):
        metadata["labels"] = label_replacement_patch(storage.metadata.labels, command.labels or {})
    return {"metadata": metadata, **({"spec": spec} if spec else {})}


def is_size_changed(storage: GPUStorage, size: str) -> bool:
    return Quantity.parse(size) != parse_size(storage.spec.size)


def parse_size(size: str) -> Quantity | None:
    """Return the size, or None for an unreadable one, which only kubectl can write."""
    try:
        return Quantity.parse(size)
    except ValueError:
        return None


def is_expansion_forbidden(class_name: str | None, storage_classes: Iterable[StorageClass]) -> bool:
    """Return whether volumes of the class cannot grow; an empty name is the default class.

    With None the configuration of the controller decides, which is unknown here until the
    storage has its volume.
    """
    if class_name is None:
        return False
    selected = [item for item in storage_classes if is_selected_class(item, class_name)]
    return bool(selected) and not any(item.allow_volume_expansion for item in selected)


def is_selected_class(storage_class: StorageClass, name: str) -> bool:
    if name:
        return storage_class.metadata.name == name
    return storage_class.metadata.annotations.get(DEFAULT_CLASS_ANNOTATION) == "true"
