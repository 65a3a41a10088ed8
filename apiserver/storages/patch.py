"""Merge patches for storages, and the checks before a change or a recovery."""

from collections.abc import Iterable
from typing import Any, Final

from msgspec import UnsetType

from apiserver.errors import ConflictError, ErrorDetail, InvalidRequestError, describe_problem
from apiserver.storages.commands import ChangeStorage
from apiserver.units.patch import label_replacement_patch, replacement_patch
from shared.k8s.quantity import Quantity
from shared.k8s.storage_class import StorageClass
from shared.v1alpha1.gpustorage import GPUStorage, PrepareStatus
from shared.v1alpha1.phases import PreparePhase
from shared.v1alpha1.validation.problem import Problem
from shared.v1alpha1.wellknown import RECOVER_ANNOTATION

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


def require_recoverable(storage: GPUStorage) -> None:
    """Raise ConflictError unless the prepare has failed and no recovery is requested yet."""
    status = storage.status.prepare or PrepareStatus()
    if storage.metadata.deletion_timestamp is not None:
        raise ConflictError("the storage is being deleted")
    if storage.spec.prepare is None:
        raise ConflictError("the storage has no prepare, so it cannot be recovered")
    if status.phase != PreparePhase.FAILED:
        phase = status.phase or PreparePhase.PENDING.value
        raise ConflictError(f"only a failed prepare can be recovered; this prepare is {phase}")
    handled = ("", status.recovered_by, status.prior_request)
    if storage.metadata.annotations.get(RECOVER_ANNOTATION, "") not in handled:
        raise ConflictError("a recovery is already requested; wait until it starts")


def recovery_patch(storage: GPUStorage, recovery_id: str) -> dict[str, Any]:
    """Return the patch that requests a recovery, at the version that was read."""
    meta = storage.metadata
    return {
        "metadata": {
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
            "annotations": {RECOVER_ANNOTATION: recovery_id},
        }
    }
