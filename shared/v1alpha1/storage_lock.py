"""The lock of a GPUStorage: an annotation that names the only user of its volume."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.wellknown import MOUNT_FINALIZER, MOUNTED_BY_ANNOTATION


class StorageLock(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The lock of a unit, or of the preparation of the storage that `prepare` names.

    A lock without a uid belongs to its operation, which is about to create the unit. `generation`
    is the generation of the unit for which the lock was taken. `operation` of a preparation is its
    recover request.
    """

    unit: str = ""
    uid: str = ""
    operation: str = ""
    prepare: str = ""
    generation: int = 0

    @property
    def holder_text(self) -> str:
        """Return a description of the holder for messages."""
        if self.prepare:
            return f"the prepare of GPUStorage {self.prepare}"
        return f"unit {self.unit}" if self.unit else f"operation {self.operation!r}"


def parse_storage_lock(annotations: Mapping[str, str]) -> StorageLock | None:
    """Return the lock, or None if the storage is not locked.

    An unreadable lock has no known holder.
    """
    text = annotations.get(MOUNTED_BY_ANNOTATION)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=StorageLock)
    except msgspec.DecodeError:
        return StorageLock()


def lock_patch(storage: ObjectMeta, lock: StorageLock) -> dict[str, Any]:
    """Return the patch that locks the storage of the read version and protects it from deletion."""
    annotation = {MOUNTED_BY_ANNOTATION: msgspec.json.encode(lock).decode()}
    finalizers = (*storage.finalizers, MOUNT_FINALIZER)
    return _conditional_patch(storage, finalizers, annotations=annotation)


def protect_patch(storage: ObjectMeta) -> dict[str, Any]:
    """Return the patch that protects a storage from deletion without locking it."""
    return _conditional_patch(storage, (*storage.finalizers, MOUNT_FINALIZER))


def unlock_patch(storage: ObjectMeta) -> dict[str, Any]:
    """Return the patch that removes the lock and the protection from deletion."""
    others = [finalizer for finalizer in storage.finalizers if finalizer != MOUNT_FINALIZER]
    return _conditional_patch(storage, others, annotations={MOUNTED_BY_ANNOTATION: None})


def _conditional_patch(
    storage: ObjectMeta, finalizers: Iterable[str], **changes: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return a patch of the read version of the storage only: the first writer wins."""
    read_version = {"uid": storage.uid, "resourceVersion": storage.resource_version}
    unique = list(dict.fromkeys(finalizers))
    return {"metadata": {**read_version, "finalizers": unique, **changes}}
