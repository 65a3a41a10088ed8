"""Who owns an object: without its owner it is garbage."""

from collections.abc import Iterable
from typing import Any, TypeVar

from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object, ObjectMetaLike

T = TypeVar("T", bound=Object)


def controller_reference(kind: Kind[T], owner: T) -> dict[str, Any]:
    """The reference that makes an object the owner's own; one object has at most one such."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def is_controlled_by(meta: ObjectMetaLike, uids: Iterable[str]) -> bool:
    """Whether the controlling owner is one of `uids`."""
    wanted = set(uids)
    return any(owner.controller and owner.uid in wanted for owner in meta.owner_references)
