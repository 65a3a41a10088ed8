"""Applier of the children of one kind of owner."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Generic, TypeVar

from controller.apply.child import Child, ChildAction, LiveObject, next_action, was_applied_before
from controller.runtime import (
    ConflictError,
    EventRecorder,
    InvalidError,
    Kind,
    KubeError,
    NotFoundError,
    Object,
    ObjectKey,
    Preconditions,
    StatusError,
    Writer,
    is_controlled_by,
    key_of,
    object_reference,
)
from shared.v1alpha1.reasons import EventReason

T = TypeVar("T", bound=Object)


class ApplyFailureKind(Enum):
    """Reason why a child could not be applied."""

    TERMINATING = auto()  # the previous object of this name is still being deleted
    NOT_OWNED = auto()  # an object of another owner has this name
    INVALID = auto()  # the server rejects the manifest, and a retry does not help
    RETRYABLE = auto()  # the server did not accept the write this time


@dataclass(frozen=True, slots=True)
class ApplyFailure:
    """First child that could not be applied, and the reason as a message."""

    child: Child
    kind: ApplyFailureKind
    message: str
    error: KubeError | None = None


class ChildApplier(Generic[T]):
    """Applier of children: writes only differences, and records Events about the owner."""

    def __init__(self, owner_kind: Kind[T], writer: Writer, recorder: EventRecorder) -> None:
        self._owner_kind = owner_kind
        self._writer = writer
        self._recorder = recorder

    async def apply(self, owner: T, children: list[Child]) -> ApplyFailure | None:
        """Create or update the children in order; stop at the first failure and return it."""
        done: dict[EventReason, list[str]] = {}
        try:
            for child in children:
                step = next_action(child)
                if step in (ChildAction.CONFLICT, ChildAction.WAIT):
                    return blocked_failure(child, step)
                if step is ChildAction.NONE:
                    continue
                failed = await self._try_write(child)
                if failed is not None:
                    return failed
                reason = EventReason.CREATED if step is ChildAction.CREATE else EventReason.UPDATED
                done.setdefault(reason, []).append(child.display_name)
        finally:
            for reason, names in done.items():
                self._record_event(owner, reason, names)
        return None

    async def delete(self, owner: T, kind: Kind[Any], live: LiveObject | None) -> None:
        """Delete a child that is no longer wanted; keep an object of another owner."""
        if live is None or live.metadata.deletion_timestamp is not None:
            return
        meta = live.metadata
        if not is_controlled_by(meta, [owner.metadata.uid]):
            return
        try:
            key = ObjectKey(meta.namespace, meta.name)
            await self._writer.delete(kind, key, Preconditions(uid=meta.uid))
        except NotFoundError:
            return
        self._record_event(owner, EventReason.DELETED, [f"{kind.name} {meta.name}"])

    async def _try_write(self, child: Child) -> ApplyFailure | None:
        try:
            await self._write(child)
        except ConflictError:
            raise  # the object has changed since it was read: reconcile again
        except InvalidError as error:
            return ApplyFailure(child, ApplyFailureKind.INVALID, error.message)
        except KubeError as error:
            error_text = error.message if isinstance(error, StatusError) else str(error)
            return ApplyFailure(
                child, ApplyFailureKind.RETRYABLE, f"{child.display_name}: {error_text}", error
            )
        return None

    async def _write(self, child: Child) -> None:
        """Apply the body and keep the fields of other field managers.

        If the server rejects the merged object, patch instead, which removes their list entries.
        """
        body = child.body
        if child.live is None:
            # An object of that name that is not in the cache yet may have another owner: then this
            # fails.
            await self._writer.apply(child.kind, body, force=False)
            return
        # never take over another owner's object of that name
        uid = {"uid": child.live.metadata.uid}
        try:
            await self._writer.apply(child.kind, {**body, "metadata": {**body["metadata"], **uid}})
        except InvalidError:
            if not was_applied_before(child):
                raise
            patch_body = {"metadata": uid, "spec": body["spec"]}
            await self._writer.patch(child.kind, key_of(child.live), patch_body)

    def _record_event(self, owner: T, reason: EventReason, names: list[str]) -> None:
        self._recorder.normal(
            object_reference(self._owner_kind, owner), reason, f"{reason} {', '.join(names)}"
        )


def blocked_failure(child: Child, action: ChildAction) -> ApplyFailure:
    if action is ChildAction.WAIT:
        message = f"{child.display_name} is being deleted and will be created again"
        return ApplyFailure(child, ApplyFailureKind.TERMINATING, message)
    message = (
        f"{child.display_name} exists but does not belong to this {owner_noun(child)}; "
        "rename or delete one of them"
    )
    return ApplyFailure(child, ApplyFailureKind.NOT_OWNED, message)


def owner_noun(child: Child) -> str:
    """Return the noun for the owner in messages: unit, storage."""
    kind: str = child.owner["kind"]
    return kind.removeprefix("GPU").lower()
