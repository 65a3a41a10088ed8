"""What a change of status is worth telling people: pure, and nothing at rest."""

from collections.abc import Iterator

from controller.status.events import Announcement
from shared.k8s.conditions import condition_of
from shared.k8s.quantity import Quantity
from shared.v1alpha1.gpustorage import GPUStorageStatus, PrepareStatus
from shared.v1alpha1.phases import PreparePhase, StoragePhase
from shared.v1alpha1.reasons import ConditionType, EventReason, StorageReason

REASONS = {
    StorageReason.INVALID_SPEC.value: EventReason.INVALID_SPEC,
    StorageReason.CHILD_CONFLICT.value: EventReason.CHILD_CONFLICT,
}


def announcements(old: GPUStorageStatus, new: GPUStorageStatus) -> Iterator[Announcement]:
    """What to say when `old` becomes `new`."""
    yield from _of_filling(old.prepare or PrepareStatus(), new.prepare or PrepareStatus())
    if old.capacity and Quantity.parse(new.capacity) > Quantity.parse(old.capacity):
        said = f"the volume grew from {old.capacity} to {new.capacity}"
        yield Announcement(False, EventReason.EXPANDED, said)
    yield from _of_readiness(old, new)


def _of_filling(old: PrepareStatus, new: PrepareStatus) -> Iterator[Announcement]:
    if old.phase == new.phase:
        return
    if new.phase == PreparePhase.SUCCEEDED:
        yield Announcement(False, EventReason.PREPARED, "the volume was filled")
    if new.phase == PreparePhase.FAILED:
        yield Announcement(True, EventReason.PREPARE_FAILED, new.message)


def _of_readiness(old: GPUStorageStatus, new: GPUStorageStatus) -> Iterator[Announcement]:
    """Only a new reason is news, a new text is not."""
    before = condition_of(old.conditions, ConditionType.READY)
    after = condition_of(new.conditions, ConditionType.READY)
    if after is None or (before is not None and before.reason == after.reason):
        return
    said = f"{after.reason}: {after.message}"
    was_ready = before is not None and before.status == "True"
    if after.reason == StorageReason.EXPANSION_NOT_SUPPORTED:
        yield Announcement(True, EventReason.FAILED, said)
    elif after.status == "True" and not was_ready:
        yield Announcement(False, EventReason.READY, after.message)
    elif new.phase == StoragePhase.FAILED and after.reason != StorageReason.PREPARE_FAILED:
        yield Announcement(True, REASONS.get(after.reason, EventReason.FAILED), said)
    elif after.status != "True" and was_ready:
        yield Announcement(True, EventReason.NOT_READY, said)
