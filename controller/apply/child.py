"""Child of one of our objects: desired body, live object, and the next action."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, Protocol

from controller.runtime import Kind, contains_desired, is_controlled_by, json_digest
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.wellknown import APPLIED_HASH_ANNOTATION


class LiveObject(Protocol):
    """Child as it is in the cache."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> dict[str, Any]: ...


class ChildAction(Enum):
    """Action that brings a child to its desired state."""

    NONE = auto()
    CREATE = auto()
    UPDATE = auto()
    WAIT = auto()  # it belongs to a deleted owner of this name, or is being deleted
    CONFLICT = auto()  # it belongs to another owner, and is never changed


@dataclass(frozen=True, slots=True)
class Child:
    """Child of an owner.

    `body` is the manifest to apply, with its owner reference and the hash of the desired manifest.

    `failure_reason` is the owner's reason for not being ready when the child cannot be written.
    """

    kind: Kind[Any]
    body: Mapping[str, Any]
    live: LiveObject | None
    failure_reason: StrEnum

    @property
    def display_name(self) -> str:
        return f"{self.kind.name} {self.body['metadata']['name']}"

    @property
    def owner(self) -> Mapping[str, Any]:
        """Return the reference to the one owner."""
        (owner,) = self.body["metadata"]["ownerReferences"]
        reference: Mapping[str, Any] = owner
        return reference


def with_applied_hash(body: Mapping[str, Any], desired_hash: str) -> dict[str, Any]:
    """Return `body` with the hash by which the next controller recognises what was applied."""
    metadata = {**body["metadata"], "annotations": {APPLIED_HASH_ANNOTATION: desired_hash}}
    return {**body, "metadata": metadata}


def make_child(
    kind: Kind[Any], body: Mapping[str, Any], live: LiveObject | None, failure_reason: StrEnum
) -> Child:
    """Create a child whose whole body is hashed."""
    return Child(kind, with_applied_hash(body, json_digest(body)), live, failure_reason)


def next_action(child: Child) -> ChildAction:
    """Compare the live object with the desired body, and return the action."""
    live = child.live
    if live is None:
        return ChildAction.CREATE
    if not is_controlled_by(live.metadata, [child.owner["uid"]]):
        return (
            ChildAction.WAIT
            if is_owned_by_predecessor(child.owner, live.metadata)
            else ChildAction.CONFLICT
        )
    if live.metadata.deletion_timestamp is not None:
        return ChildAction.WAIT
    return ChildAction.NONE if is_up_to_date(live, child.body) else ChildAction.UPDATE


def is_owned_by_predecessor(owner: Mapping[str, Any], metadata: ObjectMeta) -> bool:
    """Return whether it is a child of a deleted owner of this name.

    The garbage collector deletes it.
    """
    return any(
        (reference.api_version, reference.kind, reference.name)
        == (owner["apiVersion"], owner["kind"], owner["name"])
        for reference in metadata.owner_references
        if reference.controller
    )


def is_up_to_date(live: LiveObject, body: Mapping[str, Any]) -> bool:
    """Return whether the live object has all desired fields and the hash of this body.

    The hash finds fields that were applied before and are no longer desired.
    """
    desired = body["metadata"]
    return (
        applied_hash(live.metadata.annotations) == applied_hash(desired["annotations"])
        and contains_desired(live.metadata.labels, desired["labels"])
        and contains_desired({"spec": live.spec}, {"spec": body["spec"]})
    )


def was_applied_before(child: Child) -> bool:
    """Return whether the server has accepted this body before."""
    live, annotations = child.live, child.body["metadata"]["annotations"]
    return live is not None and applied_hash(live.metadata.annotations) == applied_hash(annotations)


def applied_hash(annotations: Mapping[str, str]) -> str:
    return annotations.get(APPLIED_HASH_ANNOTATION, "")
