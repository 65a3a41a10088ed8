"""Events for a change of a storage's status, as pure functions."""

from collections.abc import Iterator

from controller.status.events import StatusEvent
from shared.k8s.conditions import find_condition
from shared.k8s.quantity import Quantity
from shared.v1alpha1.gpustorage import GPUStorageStatus, PrepareStatus
from shared.v1alpha1.phases import PreparePhase, StoragePhase
from shared.v1alpha1.reasons import ConditionType, EventReason, StorageReason

EVENT_REASONS = {
    StorageReason.INVALID_SPEC.value: EventReason.INVALID_SPEC,
    StorageReason.CHILD_CONFLICT.value: EventReason.CHILD_CONFLICT,
}


def status_events(old: GPUStorageStatus, new: GPUStorageStatus) -> Iterator[StatusEvent]:
    """Return the Events for the change from `old` to `new`; none without a change."""
    yield from _prepare_events(old.prepare or PrepareStatus(), new.prepare or PrepareStatus())
    if old.capacity and Quantity.parse(new.capacity) > Quantity.parse(old.capacity):
        message = f"the volume grew from {old.capacity} to {new.capacity}"
        yield StatusEvent(False, EventReason.EXPANDED, message)
    yield from _readiness_events(old, new)


def _prepare_events(old: PrepareStatus, new: PrepareStatus) -> Iterator[StatusEvent]:
    if old.phase == new.phase:
        return
    if new.phase == PreparePhase.SUCCEEDED:
        yield StatusEvent(False, EventReason.PREPARED, "the volume was filled")
    if new.phase == PreparePhase.FAILED:
        yield StatusEvent(True, EventReason.PREPARE_FAILED, new.message)


def _readiness_events(old: GPUStorageStatus, new: GPUStorageStatus) -> Iterator[StatusEvent]:
    """Return an Event for a new reason; a new message alone records none."""
    before = find_condition(old.conditions, ConditionType.READY)
    after = find_condition(new.conditions, ConditionType.READY)
    if after is None or (before is not None and before.reason == after.reason):
        return
    message = f"{after.reason}: {after.message}"
    was_ready = before is not None and before.status == "True"
    if after.reason == StorageReason.EXPANSION_NOT_SUPPORTED:
        yield StatusEvent(True, EventReason.FAILED, message)
    elif after.status == "True" and not was_ready:
        yield StatusEvent(False, EventReason.READY, after.message)
    elif new.phase == StoragePhase.FAILED and after.reason != StorageReason.PREPARE_FAILED:
        yield StatusEvent(True, EVENT_REASONS.get(after.reason, EventReason.FAILED), message)
    elif after.status != "True" and was_ready:
        yield StatusEvent(True, EventReason.NOT_READY, message)
