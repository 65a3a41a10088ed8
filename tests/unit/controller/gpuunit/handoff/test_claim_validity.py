"""Tests of stock claim validity: valid as long as the operation can still use the stock."""

import msgspec
import pytest

from controller.gpuunit.handoff.claim_validity import claim_release_patch, orphaned_claim_reason
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stock_claim import claiming_unit_name, is_claimed
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec
from tests.support.builders.gpu_units import STOCK_NAMESPACE, new_unit
from tests.support.builders.operations import new_claimed_stock, new_operation, object_entry

CLAIMED = new_claimed_stock()
FREE = new_unit("warm", namespace=STOCK_NAMESPACE)


@pytest.mark.parametrize(
    ("operation", "unit_uid"),
    [
        pytest.param(new_operation(), None, id="pending"),
        pytest.param(new_operation(phase="Running"), None, id="running"),
        pytest.param(
            new_operation(phase="Succeeded", objects=[object_entry("u")]),
            "u",
            id="the unit exists",
        ),
    ],
)
def test_a_valid_stock_claim_is_kept(operation: Operation, unit_uid: str | None) -> None:
    assert orphaned_claim_reason(CLAIMED, operation, unit_uid) is None


@pytest.mark.parametrize(
    ("operation", "unit_uid", "reason"),
    [
        (None, None, "operation 'op-1' does not exist"),
        (new_operation(phase="Failed"), None, "operation 'op-1' has failed"),
        (new_operation(stock_uid="other"), None, "operation 'op-1' does not claim this stock unit"),
        (
            new_operation(phase="Succeeded", objects=[object_entry("u")]),
            None,
            "the unit of operation 'op-1' no longer exists",
        ),
        (
            new_operation(phase="Succeeded", objects=[object_entry("u")]),
            "another",
            "the unit of operation 'op-1' no longer exists",
        ),
    ],
)
def test_an_invalid_stock_claim_has_a_reason(
    operation: Operation | None, unit_uid: str | None, reason: str
) -> None:
    assert orphaned_claim_reason(CLAIMED, operation, unit_uid) == reason


def test_a_half_written_stock_claim_counts_as_a_claim() -> None:
    assert is_claimed(new_unit(labels={wellknown.CLAIMED_LABEL: "true"}))
    assert is_claimed(new_unit(annotations={wellknown.CLAIM_OPERATION_ANNOTATION: "op"}))
    assert not is_claimed(FREE)


def test_the_claiming_unit_is_read_from_the_annotation() -> None:
    assert claiming_unit_name(CLAIMED) == "one"
    assert claiming_unit_name(new_unit(labels={wellknown.CLAIMED_LABEL: "true"})) == ""
    assert claiming_unit_name(FREE) is None


def test_the_release_patch_has_a_resource_version_precondition() -> None:
    meta = msgspec.structs.replace(CLAIMED.metadata, resource_version="7")
    patch = claim_release_patch(msgspec.structs.replace(CLAIMED, metadata=meta), None)
    assert patch == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {wellknown.CLAIMED_LABEL: None},
            "annotations": {
                wellknown.CLAIMED_BY_ANNOTATION: None,
                wellknown.CLAIM_OPERATION_ANNOTATION: None,
                wellknown.CLAIMED_AT_ANNOTATION: None,
                wellknown.ATTEMPT_ANNOTATION: None,
            },
        }
    }


def test_released_stock_is_owned_by_its_pool_again() -> None:
    pool = StockPool(
        metadata=ObjectMeta(name="small", uid="uid-of-small"),
        spec=StockPoolSpec(spec_name="g1.1"),
    )
    (owner,) = claim_release_patch(CLAIMED, pool)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("StockPool", "small", "uid-of-small")
    assert owner["controller"]
