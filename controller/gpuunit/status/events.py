"""Events for a change of a unit's status, as pure functions."""

from controller.status.events import StatusEvent
from shared.k8s.conditions import find_condition
from shared.k8s.meta import Condition
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.reasons import ConditionType, EventReason, UnitReason

EVENT_REASONS = {
    UnitReason.INVALID_SPEC.value: EventReason.INVALID_SPEC,
    UnitReason.ACCESS_CONFIG_INVALID.value: EventReason.INVALID_SPEC,
    UnitReason.STORAGE_MOUNT_INVALID.value: EventReason.INVALID_SPEC,
    UnitReason.SERVERLESS_CONFIG_INVALID.value: EventReason.INVALID_SPEC,
    UnitReason.CHILD_CONFLICT.value: EventReason.CHILD_CONFLICT,
}
# Reasons of units that are not ready yet as expected: no Event is recorded for them.
QUIET_REASONS = frozenset({UnitReason.UNIT_PROGRESSING.value, UnitReason.STOCK_NOT_READY.value})


def ignored_fields_event(stock: GPUUnit) -> StatusEvent | None:
    """Return a warning about the fields that stock ignores, once per generation; else None.

    Stock runs no user program.
    """
    fields = {
        "image": stock.spec.image,
        "template": stock.spec.template,
        "access": stock.spec.access,
        "storageMounts": stock.spec.storage_mounts,
        "serverless": stock.spec.serverless,
    }
    names = [name for name, value in fields.items() if value]
    if not names or stock.status.observed_generation == stock.metadata.generation:
        return None
    return StatusEvent(True, EventReason.IGNORED, f"stock units ignore {', '.join(names)}")


def status_event(old: GPUUnitStatus, new: GPUUnitStatus) -> StatusEvent | None:
    """Return the Event for the change from `old` to `new`; a new message alone records none."""
    before = find_condition(old.conditions, ConditionType.READY)
    after = find_condition(new.conditions, ConditionType.READY)
    if after is None or (before is not None and is_same_state(before, after)):
        return None
    if after.reason == UnitReason.STOCK_CLAIMED:
        return StatusEvent(False, EventReason.CLAIMED, after.message)
    if after.status == "True":
        was_ready = before is not None and before.status == "True"
        return None if was_ready else StatusEvent(False, EventReason.READY, after.message)
    if new.phase == UnitPhase.FAILED:
        reason = EVENT_REASONS.get(after.reason, EventReason.FAILED)
        return StatusEvent(True, reason, f"{after.reason}: {after.message}")
    if after.reason in QUIET_REASONS and not is_readiness_lost(before, after):
        return None
    return StatusEvent(True, EventReason.NOT_READY, f"{after.reason}: {after.message}")


def is_readiness_lost(before: Condition | None, after: Condition) -> bool:
    """Return whether the unit was ready for the same spec; otherwise a rollout is in progress."""
    return (
        before is not None
        and before.status == "True"
        and before.observed_generation == after.observed_generation
    )


def is_same_state(before: Condition, after: Condition) -> bool:
    return (before.status, before.reason) == (after.status, after.reason)
