"""The lock of a GPUStorage: who alone may use its volume, in an annotation of the storage."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.wellknown import MOUNT_FINALIZER, MOUNTED_BY_ANNOTATION


class StorageLock(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A unit's, or that of the storage called `prepare` while it is being filled.

    Without a uid it is its operation's, which is about to make the unit. `generation` is the one
    of the unit for which the lock was taken; `operation` of a filling is the request to recover.
    """

    unit: str = ""
    uid: str = ""
    operation: str = ""
    prepare: str = ""
    generation: int = 0

    @property
    def holder_text(self) -> str:
        """Who holds it, for people."""
        if self.prepare:
            return f"the filling of GPUStorage {self.prepare}"
        return f"unit {self.unit}" if self.unit else f"operation {self.operation!r}"


def parse_storage_lock(annotations: Mapping[str, str]) -> StorageLock | None:
    """The lock, None where nobody has it; one that cannot be read is nobody's in particular."""
    text = annotations.get(MOUNTED_BY_ANNOTATION)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=StorageLock)
    except msgspec.DecodeError:
        return StorageLock()


def lock_patch(storage: ObjectMeta, lock: StorageLock) -> dict[str, Any]:
    """The patch that locks a storage as it was read, and keeps it from being deleted."""
    note = {MOUNTED_BY_ANNOTATION: msgspec.json.encode(lock).decode()}
    return _conditional_patch(storage, (*storage.finalizers, MOUNT_FINALIZER), annotations=note)


def protect_patch(storage: ObjectMeta) -> dict[str, Any]:
    """The patch that keeps a storage from being deleted, whoever uses it."""
    return _conditional_patch(storage, (*storage.finalizers, MOUNT_FINALIZER))


def unlock_patch(storage: ObjectMeta) -> dict[str, Any]:
    """The patch that takes the lock away, and with it what keeps the storage from going."""
    others = [each for each in storage.finalizers if each != MOUNT_FINALIZER]
    return _conditional_patch(storage, others, annotations={MOUNTED_BY_ANNOTATION: None})


def _conditional_patch(
    storage: ObjectMeta, finalizers: Iterable[str], **changes: Mapping[str, str | None]
) -> dict[str, Any]:
    """Only of the storage as it was read: whoever was first wins."""
    seen = {"uid": storage.uid, "resourceVersion": storage.resource_version}
    return {"metadata": {**seen, "finalizers": list(dict.fromkeys(finalizers)), **changes}}
