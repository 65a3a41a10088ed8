"""One child of an object of ours: what it shall be, what it is, and what is to be done about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Any, Protocol

from controller.runtime.client.kind import Kind
from controller.runtime.client.ownership import is_controlled_by
from controller.runtime.digest import digest
from controller.runtime.subset import covers
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.wellknown import APPLIED_HASH


class Live(Protocol):
    """A child as the cache has it."""

    @property
    def metadata(self) -> ObjectMeta: ...
    @property
    def spec(self) -> dict[str, Any]: ...


class Step(Enum):
    """What brings a child to what it shall be."""

    NOTHING = auto()
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
    live: Live | None
    failure: StrEnum

    @property
    def name(self) -> str:
        return f"{self.kind.name} {self.body['metadata']['name']}"

    @property
    def owner(self) -> Mapping[str, Any]:
        """The reference to the one owner."""
        (owner,) = self.body["metadata"]["ownerReferences"]
        reference: Mapping[str, Any] = owner
        return reference


def stamped(body: Mapping[str, Any], fingerprint: str) -> dict[str, Any]:
    """`body` with the hash by which the next controller knows what was applied."""
    metadata = {**body["metadata"], "annotations": {APPLIED_HASH: fingerprint}}
    return {**body, "metadata": metadata}


def child(kind: Kind[Any], body: Mapping[str, Any], live: Live | None, failure: StrEnum) -> Child:
    """A child whose whole body is what was asked for."""
    return Child(kind, stamped(body, digest(body)), live, failure)


def next_step(subject: Child) -> Step:
    """Compare what is with what shall be."""
    live = subject.live
    if live is None:
        return Step.CREATE
    if not is_controlled_by(live.metadata, [subject.owner["uid"]]):
        return Step.WAIT if is_left_over(subject.owner, live.metadata) else Step.CONFLICT
    if live.metadata.deletion_timestamp is not None:
        return Step.WAIT
    return Step.NOTHING if is_current(live, subject.body) else Step.UPDATE


def is_left_over(owner: Mapping[str, Any], meta: ObjectMeta) -> bool:
    """Whether it was the child of a deleted owner of the same name: the collector takes it."""
    return any(
        (found.api_version, found.kind, found.name)
        == (owner["apiVersion"], owner["kind"], owner["name"])
        for found in meta.owner_references
        if found.controller
    )


def is_current(live: Live, body: Mapping[str, Any]) -> bool:
    """Whether all that we want is there, and nothing that we wanted before and want no more."""
    wanted = body["metadata"]
    return (
        applied_hash(live.metadata.annotations) == applied_hash(wanted["annotations"])
        and covers(live.metadata.labels, wanted["labels"])
        and covers({"spec": live.spec}, {"spec": body["spec"]})
    )


def was_accepted(subject: Child) -> bool:
    """Whether the server has taken this very body before."""
    live, wanted = subject.live, subject.body["metadata"]["annotations"]
    return live is not None and applied_hash(live.metadata.annotations) == applied_hash(wanted)


def applied_hash(annotations: Mapping[str, str]) -> str:
    return annotations.get(APPLIED_HASH, "")
