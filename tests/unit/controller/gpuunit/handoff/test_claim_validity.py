"""A claim stands as long as its operation can still use the stock."""

import msgspec
import pytest

from controller.gpuunit.handoff.claim_validity import claimed_by, is_claimed, release_patch, void
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1 import wellknown
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool, StockPoolSpec
from tests.support.builders.gpu_units import STOCK, a_unit
from tests.support.builders.operations import a_record, claimed_stock, made

CLAIMED = claimed_stock()
FREE = a_unit("warm", namespace=STOCK)


@pytest.mark.parametrize(
    ("record", "unit_uid"),
    [
        pytest.param(a_record(), None, id="nothing was made yet"),
        pytest.param(a_record(phase="Running"), None, id="being worked on"),
        pytest.param(a_record(phase="Succeeded", objects=[made("u")]), "u", id="the unit is there"),
    ],
)
def test_a_claim_that_stands(record: Operation, unit_uid: str | None) -> None:
    assert void(CLAIMED, record, unit_uid) is None


@pytest.mark.parametrize(
    ("record", "unit_uid", "why"),
    [
        (None, None, "there is no record of operation 'op-1'"),
        (a_record(phase="Failed"), None, "operation 'op-1' has failed"),
        (a_record(stock_uid="other"), None, "operation 'op-1' has other stock"),
        (
            a_record(phase="Succeeded", objects=[made("u")]),
            None,
            "the unit of operation 'op-1' is gone",
        ),
        (
            a_record(phase="Succeeded", objects=[made("u")]),
            "another",
            "the unit of operation 'op-1' is gone",
        ),
    ],
)
def test_a_claim_that_is_void(record: Operation | None, unit_uid: str | None, why: str) -> None:
    assert void(CLAIMED, record, unit_uid) == why


def test_half_a_claim_is_one() -> None:
    assert is_claimed(a_unit(labels={wellknown.CLAIMED_LABEL: "true"}))
    assert is_claimed(a_unit(annotations={wellknown.CLAIM_OPERATION: "op"}))
    assert not is_claimed(FREE)


def test_who_claims_is_told() -> None:
    assert claimed_by(CLAIMED) == "one"
    assert claimed_by(a_unit(labels={wellknown.CLAIMED_LABEL: "true"})) == ""
    assert claimed_by(FREE) is None


def test_releasing_takes_the_claim_away_if_nobody_wrote_meanwhile() -> None:
    meta = msgspec.structs.replace(CLAIMED.metadata, resource_version="7")
    patch = release_patch(msgspec.structs.replace(CLAIMED, metadata=meta), None)
    assert patch == {
        "metadata": {
            "resourceVersion": "7",
            "labels": {wellknown.CLAIMED_LABEL: None},
            "annotations": {
                wellknown.CLAIMED_BY: None,
                wellknown.CLAIM_OPERATION: None,
                wellknown.CLAIMED_AT: None,
                wellknown.ATTEMPT: None,
            },
        }
    }


def test_releasing_gives_the_stock_back_to_its_pool() -> None:
    pool = StockPool(
        metadata=ObjectMeta(name="small", uid="uid-of-small"),
        spec=StockPoolSpec(spec_name="g1.1"),
    )
    (owner,) = release_patch(CLAIMED, pool)["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("StockPool", "small", "uid-of-small")
    assert owner["controller"]
