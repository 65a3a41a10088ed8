"""Tests of the stock of a pool: the units that count as replicas."""

import msgspec

from controller.stockpool.stock import unclaimed_units
from shared.v1alpha1.wellknown import CLAIM_OPERATION_ANNOTATION
from tests.unit.controller.stockpool.pool_objects import new_pool, new_unit


def test_a_claimed_unit_is_no_stock_of_its_pool() -> None:
    free = new_unit(0)
    assert unclaimed_units(new_pool(), [free, new_unit(1, claimed=True)]) == [free]


def test_a_unit_with_the_annotation_of_a_claim_alone_is_no_stock_of_its_pool() -> None:
    """Check a half-written stock claim: a shrinking pool must not delete a claimed unit."""
    unit = new_unit(1)
    annotations = {CLAIM_OPERATION_ANNOTATION: "create-1"}
    metadata = msgspec.structs.replace(unit.metadata, annotations=annotations)
    half_claimed = msgspec.structs.replace(unit, metadata=metadata)
    assert unclaimed_units(new_pool(), [half_claimed]) == []
