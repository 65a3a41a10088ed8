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
    PreparePhase.NOT_REQUESTED.value: "nothing was asked to be filled in",
    PreparePhase.PENDING.value: "the filling has not begun yet",
    PreparePhase.RUNNING.value: "the volume is being filled",
    PreparePhase.SUCCEEDED.value: "the volume was filled",
}


def next_status(
    storage: GPUStorage, outcome: StorageReconcileOutcome, now: datetime
) -> GPUStorageStatus:
    """Compute the status; `last_sync_time` changes only together with another field."""
    known, claim = storage.status, outcome.pvc
    seen = GPUStorageStatus(
        phase=outcome.readiness.phase.value,
        claim_name=(claim.metadata.name if claim is not None else "") or known.claim_name,
        storage_class_name=(claim.storage_class_name if claim is not None else "")
        or known.storage_class_name,
        capacity=(claim.capacity if claim is not None else "") or known.capacity,
        prepare=outcome.prepare_status,
        accessor=outcome.accessor.status,
        mounted_by=mounted_by(storage),
        observed_generation=storage.metadata.generation,
        last_sync_time=known.last_sync_time,
        conditions=conditions(storage, outcome, now),
    )
    return (
        seen
        if seen == known
        else msgspec.structs.replace(seen, last_sync_time=format_timestamp(now))
    )


def mounted_by(storage: GPUStorage) -> str:
    """Return the unit that holds the lock, or the prepare Job; empty without a lock."""
    lock = parse_storage_lock(storage.metadata.annotations)
    if lock is None:
        return ""
    return names.prepare_job_name(lock.prepare) if lock.prepare else lock.unit


def conditions(
    storage: GPUStorage, outcome: StorageReconcileOutcome, now: datetime
) -> tuple[Condition, ...]:
    verdict, prepare, browsed = outcome.readiness, outcome.prepare_status, outcome.accessor
    hitch = outcome.prepare_blocker
    filling = prepare.message or (
        hitch.readiness.message if hitch else PREPARE_MESSAGES[prepare.phase]
    )
    is_browsed = browsed.status.phase == AccessorPhase.READY
    told = (
        (ConditionType.READY, verdict.is_ready, verdict.reason, verdict.message),
        (ConditionType.PREPARED, prepare.phase in DONE_PHASES, prepare.phase, filling),
        (ConditionType.ACCESSOR_READY, is_browsed, browsed.status.phase, browsed.message),
    )
    known = storage.status.conditions
    for kind, holds, reason, message in told:
        before = find_condition(known, kind)
        said = message if before is None else stable_message(before.message, message)
        found = new_condition(
            kind,
            is_true=holds,
            reason=reason,
            message=said,
            observed_generation=storage.metadata.generation,
            now=now,
        )
        known = with_condition(known, found)
    return known
