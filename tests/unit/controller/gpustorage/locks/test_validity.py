"""Tests of lock validity."""

import msgspec
import pytest

from controller.gpustorage.locks.validity import (
    created_unit_uid,
    holder_pod_selector,
    is_operation_lock_orphaned,
    is_prepare_lock_orphaned,
    is_unit_lock_orphaned,
)
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.storage_lock import (
    StorageLock,
    lock_patch,
    parse_storage_lock,
    protect_patch,
    unlock_patch,
)
from tests.support.builders.gpu_units import new_unit
from tests.support.builders.operations import new_operation, object_entry
from tests.unit.controller.gpustorage.storage_objects import PREPARE_FROM_IMAGE, new_storage

MOUNT = [{"name": "data", "mountPath": "/data"}]
UNIT_LOCK = StorageLock(unit="one", uid="uid-of-one")
PREPARE_LOCK = StorageLock(prepare="data", uid="uid-of-data", operation="r1")


def with_observed_generation(unit: GPUUnit, observed: int) -> GPUUnit:
    meta = msgspec.structs.replace(unit.metadata, generation=2)
    status = msgspec.structs.replace(unit.status, observed_generation=observed)
    return msgspec.structs.replace(unit, metadata=meta, status=status)


@pytest.mark.parametrize(
    ("unit", "is_void"),
    [
        (None, True),
        (with_observed_generation(new_unit(storageMounts=MOUNT), 2), False),
        (with_observed_generation(new_unit(storageMounts=MOUNT), 1), False),
        (with_observed_generation(new_unit(), 2), True),
        (with_observed_generation(new_unit(), 1), False),
    ],
)
def test_the_lock_of_a_unit_is_valid_while_it_mounts_the_storage(
    unit: GPUUnit | None, is_void: bool
) -> None:
    assert is_unit_lock_orphaned(UNIT_LOCK, "data", unit) is is_void


def test_a_unit_of_the_same_name_is_not_the_holder() -> None:
    assert is_unit_lock_orphaned(StorageLock(unit="one", uid="another"), "data", new_unit())


def test_the_lock_of_an_operation_is_valid_while_it_may_create_a_unit() -> None:
    assert is_operation_lock_orphaned(None)
    assert is_operation_lock_orphaned(new_operation(phase="Failed"))
    assert not is_operation_lock_orphaned(new_operation(phase="Running"))
    assert not is_operation_lock_orphaned(new_operation(phase="Succeeded"))


def test_a_finished_operation_names_its_unit() -> None:
    assert created_unit_uid(new_operation(phase="Succeeded", objects=[object_entry("u")])) == "u"
    assert created_unit_uid(new_operation(phase="Running", objects=[object_entry("u")])) == ""
    assert created_unit_uid(None) == ""


def prepared_storage(phase: str, attempt: str = "r1", **metadata: str) -> GPUStorage:
    status = {"prepare": {"phase": phase, "recoveredBy": attempt}}
    return new_storage(prepare=PREPARE_FROM_IMAGE, status=status, metadata=metadata)


@pytest.mark.parametrize(
    ("target", "has_job", "is_void"),
    [
        (None, False, True),
        (prepared_storage("Pending"), False, False),
        (prepared_storage("Running"), True, False),
        (prepared_storage("Succeeded"), True, True),
        (prepared_storage("Failed"), True, True),
        (prepared_storage("Pending", "r2"), False, True),
        (prepared_storage("Running", uid="another"), True, True),
        (prepared_storage("Running", deletionTimestamp="2026-01-01T00:00:00Z"), True, False),
        (prepared_storage("Running", deletionTimestamp="2026-01-01T00:00:00Z"), False, True),
    ],
)
def test_the_lock_of_a_prepare_is_valid_until_its_attempt_has_ended(
    target: GPUStorage | None, has_job: bool, is_void: bool
) -> None:
    assert is_prepare_lock_orphaned(PREPARE_LOCK, target, has_job=has_job) is is_void


def test_a_lock_is_written_and_read() -> None:
    meta = new_storage(metadata={"resourceVersion": "7", "finalizers": ["other"]}).metadata
    patch = lock_patch(meta, UNIT_LOCK)["metadata"]
    assert parse_storage_lock(patch["annotations"]) == UNIT_LOCK
    assert (patch["uid"], patch["resourceVersion"]) == ("uid-of-data", "7")
    assert patch["finalizers"] == ["other", "runtime.lokiwager.io/mount-protection"]


def test_a_lock_adds_its_finalizer_once_and_a_release_keeps_other_finalizers() -> None:
    finalizers = {"finalizers": ["runtime.lokiwager.io/mount-protection", "other"]}
    meta = new_storage(metadata=finalizers).metadata
    assert protect_patch(meta)["metadata"]["finalizers"] == finalizers["finalizers"]
    unlocked = unlock_patch(meta)["metadata"]
    assert unlocked["finalizers"] == ["other"]
    assert unlocked["annotations"] == {"runtime.lokiwager.io/mounted-by": None}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"unit": 1}'])
def test_an_unreadable_lock_has_no_holder(text: str) -> None:
    assert parse_storage_lock({"runtime.lokiwager.io/mounted-by": text}) == StorageLock()


def test_a_storage_without_the_annotation_has_no_lock() -> None:
    assert parse_storage_lock({}) is None


@pytest.mark.parametrize(
    ("lock", "labels"),
    [
        (UNIT_LOCK, "runtime.lokiwager.io/unit=one"),
        (PREPARE_LOCK, "runtime.lokiwager.io/storage=data"),
        (StorageLock(), ""),
        (None, ""),
    ],
)
def test_the_pods_of_a_holder_are_found_by_its_name(lock: StorageLock | None, labels: str) -> None:
    assert holder_pod_selector(lock) == labels
