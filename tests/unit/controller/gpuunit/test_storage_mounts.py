"""Tests of storage mounts: the holder of a storage's lock, and the blocker of a unit."""

import msgspec
import pytest

from controller.gpuunit.storage_lock_ownership import (
    desired_lock,
    is_lock_confirmed,
    is_lock_held_by,
)
from controller.gpuunit.storage_mounts import unready_storage_message
from shared.v1alpha1.storage_lock import StorageLock
from tests.support.builders.gpu_units import new_unit
from tests.unit.controller.gpustorage.storage_objects import new_storage

UNIT = new_unit(annotations={"runtime.lokiwager.io/operation-id": "op-1"})


@pytest.mark.parametrize(
    ("lock", "is_held"),
    [
        (StorageLock(unit="one", uid="uid-of-one"), True),
        (StorageLock(unit="one", uid="of an earlier one"), False),
        (StorageLock(unit="one", operation="op-1"), True),
        (StorageLock(unit="one", operation="op-2"), False),
        (StorageLock(unit="two", operation="op-1"), False),
        (StorageLock(), False),
        (StorageLock(prepare="data", uid="uid-of-data"), False),
    ],
)
def test_a_lock_belongs_to_a_unit_by_uid_or_by_operation(lock: StorageLock, is_held: bool) -> None:
    assert is_lock_held_by(UNIT, lock) is is_held


def test_a_manually_created_unit_does_not_hold_a_lock_without_a_uid() -> None:
    assert not is_lock_held_by(new_unit(), StorageLock(unit="one"))


def test_a_lock_is_confirmed_for_the_generation_that_begins_to_mount() -> None:
    unit = msgspec.structs.replace(
        UNIT, metadata=msgspec.structs.replace(UNIT.metadata, generation=3)
    )
    old = StorageLock(unit="one", uid="uid-of-one", generation=2)
    assert not is_lock_confirmed(unit, None, is_mounted=True)
    assert not is_lock_confirmed(unit, StorageLock(unit="one", operation="op-1"), is_mounted=True)
    assert not is_lock_confirmed(unit, old, is_mounted=False)
    assert is_lock_confirmed(unit, old, is_mounted=True)
    assert is_lock_confirmed(unit, desired_lock(unit), is_mounted=False)


def test_a_storage_that_is_being_deleted_serves_only_the_holder_of_its_lock() -> None:
    annotations = {"runtime.lokiwager.io/mounted-by": '{"unit":"one","uid":"uid-of-one"}'}
    metadata = {"deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": annotations}
    storage = new_storage(metadata=metadata, status={"phase": "Ready"})
    assert unready_storage_message(new_unit(), "data", storage) is None
    assert (
        unready_storage_message(new_unit("two"), "data", storage)
        == "GPUStorage data is being deleted"
    )
