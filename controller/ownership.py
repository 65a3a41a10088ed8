"""Who owns an object: without its owner it is garbage."""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from controller.runtime.kind import Kind
from controller.runtime.objects import Object
from shared.meta import ObjectMeta, OwnerReference

T = TypeVar("T", bound=Object)


def controlled_by(kind: Kind[T], owner: T) -> dict[str, Any]:
    """The reference that makes an object the owner's own; one object has at most one such."""
    reference = OwnerReference(
        api_version=kind.api_version,
        kind=kind.name,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=True,
        block_owner_deletion=True,
    )
    built: dict[str, Any] = msgspec.to_builtins(reference)
    return built


def is_controlled_by(meta: ObjectMeta, uids: Iterable[str]) -> bool:
    """Whether the controlling owner is one of `uids`."""
    wanted = set(uids)
    return any(owner.controller and owner.uid in wanted for owner in meta.owner_references)
