"""Tests of the count of consumed units: each unit is counted once, at any time of the count."""

from hypothesis import given
from hypothesis import strategies as st

from controller.stockpool.stock_claims import StockClaims, count_claims
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stockpool import StockPoolStatus
from tests.unit.controller.stockpool.pool_objects import new_unit


def test_a_claimed_unit_is_recorded() -> None:
    units = [new_unit(0), new_unit(1, claimed=True)]
    assert count_claims(StockPoolStatus(), units) == StockClaims(("uid-1",), 0)


def test_a_recorded_unit_that_no_longer_exists_was_consumed() -> None:
    status = StockPoolStatus(claimed=("uid-1", "uid-2"), allocated=5)
    assert count_claims(status, [new_unit(2, claimed=True)]) == StockClaims(("uid-2",), 6)


def test_a_claimed_unit_that_is_being_deleted_is_not_consumed_yet() -> None:
    terminating = new_unit(1, claimed=True, deleted_at="2026-11-16T00:00:00Z")
    assert count_claims(StockPoolStatus(claimed=("uid-1",)), [terminating]) == StockClaims(
        ("uid-1",), 0
    )


def test_a_released_unit_is_not_counted() -> None:
    assert count_claims(
        StockPoolStatus(claimed=("uid-1",), allocated=5), [new_unit(1)]
    ) == StockClaims((), 5)


@given(st.lists(st.sets(st.integers(0, 9)), max_size=8))
def test_every_recorded_claim_is_counted_once(snapshots: list[set[int]]) -> None:
    """Check that each unit is counted once, after snapshots with any of the claimed units."""
    status, consumed, recorded = StockPoolStatus(), set[int](), set[int]()
    for snapshot in [*snapshots, set[int]()]:
        existing = snapshot - consumed
        consumed |= recorded - existing
        recorded |= existing
        status = after(status, [new_unit(number, claimed=True) for number in existing])
    assert (status.claimed, status.allocated) == ((), len(recorded))


def after(status: StockPoolStatus, units: list[GPUUnit]) -> StockPoolStatus:
    claims = count_claims(status, units)
    return StockPoolStatus(claimed=claims.claimed_uids, allocated=claims.consumed_count)
