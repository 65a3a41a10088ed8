"""Status of a storage, computed from an outcome; it stays equal if only time has passed."""

from datetime import datetime

import msgspec

from controller.gpustorage.prepare_status import DONE_PHASES
from controller.gpustorage.status.outcome import StorageReconcileOutcome
from controller.status.pod_diagnosis import stable_message
from shared.k8s.conditions import find_condition, with_condition
from shared.k8s.meta import Condition
from shared.k8s.readiness import new_condition
from shared.time import format_timestamp
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage, GPUStorageStatus
from shared.v1alpha1.phases import AccessorPhase, PreparePhase
from shared.v1alpha1.reasons import ConditionType
from shared.v1alpha1.storage_lock import parse_storage_lock

PREPARE_MESSAGES = {
    PreparePhase.NOT_REQUESTED.value: "no prepare is requested",
    PreparePhase.PENDING.value: "the prepare Job has not started yet",
    PreparePhase.RUNNING.value: "the volume is being filled",
    PreparePhase.SUCCEEDED.value: "the volume was filled",
}


def next_status(
    storage: GPUStorage, outcome: StorageReconcileOutcome, now: datetime
) -> GPUStorageStatus:
    """Compute the status; `last_sync_time` changes only together with another field."""
    old, pvc = storage.status, outcome.pvc
    new = GPUStorageStatus(
        phase=outcome.readiness.phase.value,
        claim_name=(pvc.metadata.name if pvc is not None else "") or old.claim_name,
        storage_class_name=(pvc.storage_class_name if pvc is not None else "")
        or old.storage_class_name,
        capacity=(pvc.capacity if pvc is not None else "") or old.capacity,
        prepare=outcome.prepare_status,
        accessor=outcome.accessor.status,
        mounted_by=mounted_by(storage),
        observed_generation=storage.metadata.generation,
        last_sync_time=old.last_sync_time,
        conditions=conditions(storage, outcome, now),
    )
    return new if new == old else msgspec.structs.replace(new, last_sync_time=format_timestamp(now))


def mounted_by(storage: GPUStorage) -> str:
    """Return the unit that holds the lock, or the prepare Job; empty without a lock."""
    lock = parse_storage_lock(storage.metadata.annotations)
    if lock is None:
        return ""
    return names.prepare_job_name(lock.prepare) if lock.prepare else lock.unit


def conditions(
    storage: GPUStorage, outcome: StorageReconcileOutcome, now: datetime
) -> tuple[Condition, ...]:
    readiness, prepare, accessor = outcome.readiness, outcome.prepare_status, outcome.accessor
    blocker = outcome.prepare_blocker
    prepare_message = prepare.message or (
        blocker.readiness.message if blocker else PREPARE_MESSAGES[prepare.phase]
    )
    is_accessor_ready = accessor.status.phase == AccessorPhase.READY
    reports = (
        (ConditionType.READY, readiness.is_ready, readiness.reason, readiness.message),
        (ConditionType.PREPARED, prepare.phase in DONE_PHASES, prepare.phase, prepare_message),
        (ConditionType.ACCESSOR_READY, is_accessor_ready, accessor.status.phase, accessor.message),
    )
    updated = storage.status.conditions
    for condition_type, is_true, reason, message in reports:
        before = find_condition(updated, condition_type)
        stable = message if before is None else stable_message(before.message, message)
        condition = new_condition(
            condition_type,
            is_true=is_true,
            reason=reason,
            message=stable,
            observed_generation=storage.metadata.generation,
            now=now,
        )
        updated = with_condition(updated, condition)
    return updated
