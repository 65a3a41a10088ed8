"""Tests of volume readiness, and of the requested size."""

import pytest

from controller.gpustorage.resources.pvc import desired_pvc_size, pvc_child
from controller.gpustorage.volume_readiness import had_pvc, volume_readiness
from shared.k8s.pvc import PersistentVolumeClaim
from shared.k8s.storage_class import StorageClass
from tests.unit.controller.gpustorage.storage_objects import (
    SETTINGS,
    new_pvc,
    new_storage,
    new_storage_class,
)


@pytest.mark.parametrize(
    ("size", "pvc", "storage_class", "expected"),
    [
        ("1Gi", None, None, "1Gi"),
        ("1024Mi", None, None, "1Gi"),
        ("0.5", None, None, "1"),
        ("3Gi", new_pvc(), new_storage_class(), "3Gi"),
        ("3Gi", new_pvc(), new_storage_class(allow_expansion=False), "1Gi"),
        ("3Gi", new_pvc(), None, "1Gi"),
        ("3Gi", new_pvc(capacity=None), new_storage_class(), "1Gi"),
        ("1Gi", new_pvc("3Gi", "3Gi"), new_storage_class(), "3Gi"),
        ("1Gi", new_pvc("3Gi", "1Gi"), new_storage_class(), "3Gi"),
        ("1Gi", new_pvc("1024M", "1024M"), new_storage_class(), "1Gi"),
        ("1000M", new_pvc("1024M", "1024M"), new_storage_class(), "1024M"),
    ],
)
def test_the_requested_size_only_grows_and_only_if_the_class_allows_it(
    size: str, pvc: PersistentVolumeClaim | None, storage_class: StorageClass | None, expected: str
) -> None:
    assert desired_pvc_size(new_storage(size=size), pvc, storage_class) == expected


@pytest.mark.parametrize(
    ("class_name", "expected"), [(None, "standard"), ("", None), ("fast", "fast")]
)
def test_the_storage_class_is_from_the_spec_or_the_configuration_or_the_cluster(
    class_name: str | None, expected: str | None
) -> None:
    storage = new_storage() if class_name is None else new_storage(storageClassName=class_name)
    body = pvc_child(storage, None, None, SETTINGS).body
    assert body["spec"].get("storageClassName") == expected


def test_the_class_of_an_existing_pvc_is_kept() -> None:
    body = pvc_child(
        new_storage(storageClassName="other"), new_pvc(), new_storage_class(), SETTINGS
    ).body
    assert body["spec"]["storageClassName"] == "fast"


@pytest.mark.parametrize(
    ("size", "pvc", "storage_class", "expected"),
    [
        ("1Gi", None, None, ("Pending", "VolumePending", "being created")),
        ("1Gi", new_pvc(), new_storage_class(), ("Ready", "StorageReady", "the volume holds 1Gi")),
        ("1Gi", new_pvc(), None, ("Ready", "StorageReady", "the volume holds 1Gi")),
        (
            "1Gi",
            new_pvc(capacity=None),
            new_storage_class(waits_for_consumer=True),
            ("Ready", "StorageReady", "created when it is first mounted"),
        ),
        (
            "1Gi",
            new_pvc(capacity=None),
            new_storage_class(),
            ("Pending", "VolumePending", "being created"),
        ),
        ("1Gi", new_pvc(capacity=None), None, ("Pending", "VolumePending", "does not exist")),
        (
            "1Gi",
            new_pvc(capacity=None, class_name=""),
            None,
            ("Pending", "VolumePending", "no default"),
        ),
        (
            "1Gi",
            new_pvc(phase="Lost"),
            new_storage_class(),
            ("Failed", "VolumeLost", "no longer exists"),
        ),
        ("3Gi", new_pvc("3Gi"), new_storage_class(), ("Ready", "StorageReady", "grows to 3Gi")),
        (
            "3Gi",
            new_pvc(),
            new_storage_class(allow_expansion=False),
            ("Ready", "ExpansionNotSupported", "set size back to 1Gi"),
        ),
        (
            "1Gi",
            new_pvc("3Gi", "3Gi"),
            new_storage_class(),
            ("Ready", "StorageReady", "cannot shrink to 1Gi"),
        ),
    ],
)
def test_the_ready_condition_follows_the_state_of_the_volume(
    size: str,
    pvc: PersistentVolumeClaim | None,
    storage_class: StorageClass | None,
    expected: tuple[str, str, str],
) -> None:
    readiness = volume_readiness(new_storage(size=size), pvc, storage_class)
    assert (readiness.phase, readiness.reason) == expected[:2]
    assert expected[2] in readiness.message


@pytest.mark.parametrize(
    ("lock", "status", "is_known"),
    [
        ("", {}, False),
        ("", {"claimName": "data"}, True),
        ('{"unit":"mine","operation":"o"}', {}, False),
        ('{"unit":"mine","operation":"o"}', {"claimName": "data"}, True),
        ('{"prepare":"data","uid":"uid-of-data"}', {}, True),
        ('{"prepare":"copy","uid":"uid-of-copy"}', {}, False),
    ],
)
def test_an_earlier_pvc_is_known_from_the_status_or_the_lock(
    lock: str, status: dict[str, str], is_known: bool
) -> None:
    metadata = {"annotations": {"runtime.lokiwager.io/mounted-by": lock}} if lock else {}
    assert had_pvc(new_storage(metadata=metadata, status=status)) is is_known
