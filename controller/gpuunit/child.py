"""One child of a unit: what it shall be, what it is, and what is to be done about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

from controller.gpuunit.workload import is_controlled_by
from controller.kinds import GPU_UNITS
from controller.runtime.covering import covers
from controller.runtime.digest import digest
from controller.runtime.kind import Kind
from shared.meta import ObjectMeta
from shared.reasons import UnitReason
from shared.v1alpha1.gpuunit import GPUUnit
from shared.wellknown import APPLIED_HASH


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
    WAIT = auto()  # it belongs to a unit of this name that is gone, or goes itself
    CONFLICT = auto()  # it belongs to somebody else, and is never touched


@dataclass(frozen=True, slots=True)
class Child:
    """`body` is what we apply, with the hash of what was asked for in an annotation."""

    kind: Kind[Any]
    body: Mapping[str, Any]
    live: Live | None
    failure: UnitReason

    @property
    def name(self) -> str:
        return f"{self.kind.name} {self.body['metadata']['name']}"


def stamped(body: Mapping[str, Any], fingerprint: str) -> dict[str, Any]:
    """`body` with the hash by which the next controller knows what was applied."""
    metadata = {**body["metadata"], "annotations": {APPLIED_HASH: fingerprint}}
    return {**body, "metadata": metadata}


def child(
    kind: Kind[Any], body: Mapping[str, Any], live: Live | None, failure: UnitReason
) -> Child:
    """A child whose whole body is what was asked for."""
    return Child(kind, stamped(body, digest(body)), live, failure)


def next_step(unit: GPUUnit, subject: Child) -> Step:
    """Compare what is with what shall be."""
    live = subject.live
    if live is None:
        return Step.CREATE
    if not is_controlled_by(live.metadata, [unit.metadata.uid]):
        return Step.WAIT if is_left_over(unit, live.metadata) else Step.CONFLICT
    if live.metadata.deletion_timestamp is not None:
        return Step.WAIT
    return Step.NOTHING if is_current(live, subject.body) else Step.UPDATE


def is_left_over(unit: GPUUnit, meta: ObjectMeta) -> bool:
    """Whether it was the child of a deleted unit of the same name: the collector takes it."""
    return any(
        (owner.api_version, owner.kind, owner.name)
        == (GPU_UNITS.api_version, GPU_UNITS.name, unit.metadata.name)
        for owner in meta.owner_references
        if owner.controller
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
