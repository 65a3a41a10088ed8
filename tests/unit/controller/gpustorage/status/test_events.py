"""Tests of storage Events: only changes are published."""

from datetime import UTC, datetime

import msgspec

from controller.gpustorage.status.events import status_events
from controller.gpustorage.status.outcome import AccessorState, StorageReconcileOutcome
from controller.gpustorage.status.readiness import StorageReadiness
from controller.gpustorage.status.status import next_status
from shared.v1alpha1.gpustorage import AccessorStatus, GPUStorageStatus, PrepareStatus
from shared.v1alpha1.reasons import StorageReason
from tests.unit.controller.gpustorage.storage_objects import new_pvc, new_storage

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = datetime(2026, 1, 2, tzinfo=UTC)
DISABLED = AccessorState(AccessorStatus(phase="Disabled"), "the accessor is not enabled")
READY = StorageReadiness.ready(StorageReason.READY, "the volume holds 1Gi")
PENDING = StorageReadiness.pending(StorageReason.VOLUME_PENDING, "is being created")


def status(
    volume: StorageReadiness = READY,
    prepare: str = "NotRequested",
    capacity: str = "1Gi",
    old: GPUStorageStatus | None = None,
    now: datetime = NOW,
) -> GPUStorageStatus:
    storage = new_storage()
    if old is not None:
        storage = msgspec.structs.replace(storage, status=old)
    outcome = StorageReconcileOutcome(
        new_pvc(capacity=capacity), volume, PrepareStatus(phase=prepare, message="why"), DISABLED
    )
    return next_status(storage, outcome, now)


def events_of(old: GPUStorageStatus, new: GPUStorageStatus) -> list[tuple[str, bool]]:
    return [(event.reason.value, event.is_warning) for event in status_events(old, new)]


def test_the_storage_status_does_not_change_with_time_alone() -> None:
    first = status()
    assert status(old=first, now=LATER) == first


def test_an_event_is_sent_when_a_storage_becomes_ready_and_not_while_it_is_pending() -> None:
    pending = status(PENDING)
    assert events_of(GPUStorageStatus(), pending) == []
    assert events_of(pending, status(old=pending)) == [("Ready", False)]


def test_an_event_is_sent_at_the_end_of_a_prepare() -> None:
    pending = status(prepare="Running")
    assert events_of(pending, status(prepare="Succeeded")) == [
        ("Prepared", False),
        ("Ready", False),
    ]
    assert events_of(pending, status(prepare="Failed")) == [("PrepareFailed", True)]


def test_an_event_is_sent_when_a_volume_was_expanded() -> None:
    assert events_of(status(), status(capacity="3Gi")) == [("Expanded", False)]


def test_an_unsupported_expansion_is_a_warning_although_the_storage_is_ready() -> None:
    refused = READY.with_reason(StorageReason.EXPANSION_NOT_SUPPORTED, "no")
    assert events_of(status(), status(refused)) == [("Failed", True)]
    assert events_of(status(refused), status()) == []


def test_a_lost_volume_is_a_failed_event() -> None:
    lost = StorageReadiness.failed(StorageReason.VOLUME_LOST, "gone")
    assert events_of(status(), status(lost)) == [("Failed", True)]


def test_an_event_is_sent_when_a_storage_is_no_longer_ready() -> None:
    assert events_of(status(), status(PENDING)) == [("NotReady", True)]
