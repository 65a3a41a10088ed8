"""Owner references: the garbage collector deletes an object after its owner."""

from collections.abc import Iterable
from typing import Any, TypeVar

from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object, ObjectMetaLike

T = TypeVar("T", bound=Object)


def controller_reference(kind: Kind[T], owner: T) -> dict[str, Any]:
    """Return the reference that makes `owner` the controlling owner; an object has one at most."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_controlled_by(meta: ObjectMetaLike, uids: Iterable[str]) -> bool:
    """Whether the uid of the controlling owner is one of `uids`."""
    controller_uids = set(uids)
    return any(owner.controller and owner.uid in controller_uids for owner in meta.owner_references)
