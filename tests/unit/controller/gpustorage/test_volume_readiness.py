"""How a volume is, and how much it is asked for."""

import pytest

from controller.gpustorage.resources.pvc import claim_child
from controller.gpustorage.resources.size import request
from controller.gpustorage.volume_readiness import volume_verdict, was_made
from shared.k8s.pvc import VolumeClaim
from shared.k8s.storage_class import StorageClass
from tests.unit.controller.gpustorage.storage_objects import SETTINGS, a_claim, a_class, a_storage


@pytest.mark.parametrize(
    ("size", "claim", "kind", "asked"),
    [
        ("1Gi", None, None, "1Gi"),
        ("1024Mi", None, None, "1Gi"),
        ("0.5", None, None, "1"),
        ("3Gi", a_claim(), a_class(), "3Gi"),
        ("3Gi", a_claim(), a_class(grows=False), "1Gi"),
        ("3Gi", a_claim(), None, "1Gi"),
        ("3Gi", a_claim(capacity=None), a_class(), "1Gi"),
        ("1Gi", a_claim("3Gi", "3Gi"), a_class(), "3Gi"),
        ("1Gi", a_claim("3Gi", "1Gi"), a_class(), "3Gi"),
        ("1Gi", a_claim("1024M", "1024M"), a_class(), "1Gi"),
        ("1000M", a_claim("1024M", "1024M"), a_class(), "1024M"),
    ],
)
def test_a_request_only_grows_and_only_where_it_can(
    size: str, claim: VolumeClaim | None, kind: StorageClass | None, asked: str
) -> None:
    assert request(a_storage(size=size), claim, kind) == asked


@pytest.mark.parametrize(("given", "asked"), [(None, "standard"), ("", None), ("fast", "fast")])
def test_the_class_is_the_specs_or_the_configurations_or_the_clusters(
    given: str | None, asked: str | None
) -> None:
    storage = a_storage() if given is None else a_storage(storageClassName=given)
    body = claim_child(storage, None, None, SETTINGS).body
    assert body["spec"].get("storageClassName") == asked


def test_the_class_of_a_claim_that_is_there_stays() -> None:
    body = claim_child(a_storage(storageClassName="other"), a_claim(), a_class(), SETTINGS).body
    assert body["spec"]["storageClassName"] == "fast"


@pytest.mark.parametrize(
    ("size", "claim", "kind", "said"),
    [
        ("1Gi", None, None, ("Pending", "VolumePending", "being asked for")),
        ("1Gi", a_claim(), a_class(), ("Ready", "StorageReady", "the volume holds 1Gi")),
        ("1Gi", a_claim(), None, ("Ready", "StorageReady", "the volume holds 1Gi")),
        (
            "1Gi",
            a_claim(capacity=None),
            a_class(waits=True),
            ("Ready", "StorageReady", "made when it is first mounted"),
        ),
        ("1Gi", a_claim(capacity=None), a_class(), ("Pending", "VolumePending", "being made")),
        ("1Gi", a_claim(capacity=None), None, ("Pending", "VolumePending", "does not exist")),
        (
            "1Gi",
            a_claim(capacity=None, class_name=""),
            None,
            ("Pending", "VolumePending", "no default"),
        ),
        ("1Gi", a_claim(phase="Lost"), a_class(), ("Failed", "VolumeLost", "is gone")),
        ("3Gi", a_claim("3Gi"), a_class(), ("Ready", "StorageReady", "grows to 3Gi")),
        (
            "3Gi",
            a_claim(),
            a_class(grows=False),
            ("Ready", "ExpansionNotSupported", "set size back"),
        ),
        (
            "1Gi",
            a_claim("3Gi", "3Gi"),
            a_class(),
            ("Ready", "StorageReady", "cannot shrink to 1Gi"),
        ),
    ],
)
def test_a_volume_is_judged(
    size: str,
    claim: VolumeClaim | None,
    kind: StorageClass | None,
    said: tuple[str, str, str],
) -> None:
    verdict = volume_verdict(a_storage(size=size), claim, kind)
    assert (verdict.phase, verdict.reason) == said[:2]
    assert said[2] in verdict.message


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
def test_a_claim_that_was_there_is_known(lock: str, status: dict[str, str], is_known: bool) -> None:
    notes = {"annotations": {"runtime.lokiwager.io/mounted-by": lock}} if lock else {}
    assert was_made(a_storage(metadata=notes, status=status)) is is_known
