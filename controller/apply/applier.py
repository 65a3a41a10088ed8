"""Bringing the children of one kind of owner to what they shall be."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from controller.apply.child import Child, Live, Step, next_step, was_accepted
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Condition
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object
from controller.runtime.client.ownership import is_controlled_by
from controller.runtime.errors import (
    ApiError,
    ConflictError,
    InvalidError,
    NotFoundError,
    StatusError,
)
from controller.runtime.events.event import reference
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.key import ObjectKey
from shared.v1alpha1.reasons import EventReason

T = TypeVar("T", bound=Object)


class Hindrance(Enum):
    """What keeps a child from being what it shall be."""

    GOING = auto()  # the one before it has not gone yet
    FOREIGN = auto()  # somebody else's has its name
    INVALID = auto()  # the server will never take it as it is
    REFUSED = auto()  # the server did not take it this time


@dataclass(frozen=True, slots=True)
class Setback:
    """The first child that could not be brought about, and why in words."""

    child: Child
    hindrance: Hindrance
    message: str
    error: ApiError | None = None


class Sync(Generic[T]):
    """Writes only what differs, and tells it in Events about the owner."""

    def __init__(self, owners: Kind[T], writer: Writer, recorder: EventRecorder) -> None:
        self._owners = owners
        self._writer = writer
        self._recorder = recorder

    async def ensure(self, owner: T, children: list[Child]) -> Setback | None:
        """Make or mend them in their order; the first that cannot be ends it."""
        done: dict[EventReason, list[str]] = {}
        try:
            for each in children:
                step = next_step(each)
                if step in (Step.CONFLICT, Step.WAIT):
                    return blocked(each, step)
                if step is Step.NOTHING:
                    continue
                failed = await self._apply(each)
                if failed is not None:
                    return failed
                reason = EventReason.CREATED if step is Step.CREATE else EventReason.UPDATED
                done.setdefault(reason, []).append(each.name)
        finally:
            for reason, names in done.items():
                self._tell(owner, reason, names)
        return None

    async def remove(self, owner: T, kind: Kind[Any], live: Live | None) -> None:
        """Remove a child that is wanted no more; somebody else's stays."""
        if live is None or live.metadata.deletion_timestamp is not None:
            return
        meta = live.metadata
        if not is_controlled_by(meta, [owner.metadata.uid]):
            return
        try:
            key = ObjectKey(meta.namespace, meta.name)
            await self._writer.delete(kind, key, Condition(uid=meta.uid))
        except NotFoundError:
            return
        self._tell(owner, EventReason.DELETED, [f"{kind.name} {meta.name}"])

    async def _apply(self, each: Child) -> Setback | None:
        try:
            await self._write(each)
        except ConflictError:
            raise  # it has changed just now: look again
        except InvalidError as error:
            return Setback(each, Hindrance.INVALID, error.message)
        except ApiError as error:
            said = error.message if isinstance(error, StatusError) else str(error)
            return Setback(each, Hindrance.REFUSED, f"{each.name}: {said}", error)
        return None

    async def _write(self, each: Child) -> None:
        """Beside what others own; where the two cannot be together, without their list entries."""
        body = each.body
        if each.live is None:
            # One of that name may be somebody else's, and not heard of yet: then this is refused.
            await self._writer.apply(each.kind, body, force=False)
            return
        mine = {"uid": each.live.metadata.uid}  # so that nobody else's of that name is taken over
        try:
            await self._writer.apply(each.kind, {**body, "metadata": {**body["metadata"], **mine}})
        except InvalidError:
            if not was_accepted(each):
                raise
            ours = {"metadata": mine, "spec": body["spec"]}
            await self._writer.patch(each.kind, key_of(each.live), ours)

    def _tell(self, owner: T, reason: EventReason, names: list[str]) -> None:
        self._recorder.normal(
            reference(self._owners, owner), reason, f"{reason} {', '.join(names)}"
        )


def blocked(each: Child, step: Step) -> Setback:
    if step is Step.WAIT:
        said = f"{each.name} is being removed, and will be made anew"
        return Setback(each, Hindrance.GOING, said)
    said = f"{each.name} exists and is not this {noun(each)}'s; rename or remove one of them"
    return Setback(each, Hindrance.FOREIGN, said)


def noun(each: Child) -> str:
    """What people call the owner: a unit, a storage."""
    kind: str = each.owner["kind"]
    return kind.removeprefix("GPU").lower()
