"""One child of an object of ours: what it shall be, what it is, and what is to be done about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, Protocol

from controller.runtime import Kind, contains_desired, is_controlled_by, json_digest
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.wellknown import APPLIED_HASH_ANNOTATION


class LiveObject(Protocol):
    """A child as the cache has it."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> dict[str, Any]: ...


class ChildAction(Enum):
    """What brings a child to what it shall be."""

    NONE = auto()
    CREATE = auto()
    UPDATE = auto()
    WAIT = auto()  # it belongs to an owner of this name that is gone, or goes itself
    CONFLICT = auto()  # it belongs to somebody else, and is never touched


@dataclass(frozen=True, slots=True)
class Child:
    """`body` is what we apply, with its owner and the hash of what was asked for.

    `failure` is the owner's reason for not being ready when the child cannot be written.
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
        """The reference to the one owner."""
        (owner,) = self.body["metadata"]["ownerReferences"]
        reference: Mapping[str, Any] = owner
        return reference


def with_applied_hash(body: Mapping[str, Any], desired_hash: str) -> dict[str, Any]:
    """`body` with the hash by which the next controller knows what was applied."""
    metadata = {**body["metadata"], "annotations": {APPLIED_HASH_ANNOTATION: desired_hash}}
    return {**body, "metadata": metadata}


def make_child(
    kind: Kind[Any], body: Mapping[str, Any], live: LiveObject | None, failure_reason: StrEnum
) -> Child:
    """A child whose whole body is what was asked for."""
    return Child(kind, with_applied_hash(body, json_digest(body)), live, failure_reason)


def next_action(child: Child) -> ChildAction:
    """Compare what is with what shall be."""
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
    """Whether it was the child of a deleted owner of the same name: the collector takes it."""
    return any(
        (found.api_version, found.kind, found.name)
        == (owner["apiVersion"], owner["kind"], owner["name"])
        for found in metadata.owner_references
        if found.controller
    )


def is_up_to_date(live: LiveObject, body: Mapping[str, Any]) -> bool:
    """Whether all that we want is there, and nothing that we wanted before and want no more."""
    wanted = body["metadata"]
    return (
        applied_hash(live.metadata.annotations) == applied_hash(wanted["annotations"])
        and contains_desired(live.metadata.labels, wanted["labels"])
        and contains_desired({"spec": live.spec}, {"spec": body["spec"]})
    )


def was_applied_before(child: Child) -> bool:
    """Whether the server has taken this very body before."""
    live, wanted = child.live, child.body["metadata"]["annotations"]
    return live is not None and applied_hash(live.metadata.annotations) == applied_hash(wanted)


def applied_hash(annotations: Mapping[str, str]) -> str:
    return annotations.get(APPLIED_HASH_ANNOTATION, "")
