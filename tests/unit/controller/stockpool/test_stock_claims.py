"""Consumed units are counted once, whenever the count is taken."""

from hypothesis import given
from hypothesis import strategies as st

from controller.stockpool.stock_claims import Claims, counted
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stockpool import StockPoolStatus
from tests.unit.controller.stockpool.pool_objects import a_unit


def test_a_claimed_unit_is_written_down() -> None:
    units = [a_unit(0), a_unit(1, claimed=True)]
    assert counted(StockPoolStatus(), units) == Claims(("uid-1",), 0)


def test_a_claimed_unit_that_is_gone_was_consumed() -> None:
    known = StockPoolStatus(claimed=("uid-1", "uid-2"), allocated=5)
    assert counted(known, [a_unit(2, claimed=True)]) == Claims(("uid-2",), 6)


def test_a_claimed_unit_that_is_going_still_exists() -> None:
    going = a_unit(1, claimed=True, deleted_at="2026-11-16T00:00:00Z")
    assert counted(StockPoolStatus(claimed=("uid-1",)), [going]) == Claims(("uid-1",), 0)


def test_a_released_unit_is_not_counted() -> None:
    assert counted(StockPoolStatus(claimed=("uid-1",), allocated=5), [a_unit(1)]) == Claims((), 5)


@given(st.lists(st.sets(st.integers(0, 9)), max_size=8))
def test_every_claim_that_was_seen_is_counted_once(looks: list[set[int]]) -> None:
    """Given looks at which some of the claimed units still exist, each one ends counted once."""
    status, gone, seen = StockPoolStatus(), set[int](), set[int]()
    for look in [*looks, set[int]()]:
        there = look - gone
        gone |= seen - there
        seen |= there
        status = after(status, [a_unit(number, claimed=True) for number in there])
    assert (status.claimed, status.allocated) == ((), len(seen))


def after(status: StockPoolStatus, units: list[GPUUnit]) -> StockPoolStatus:
    now = counted(status, units)
    return StockPoolStatus(claimed=now.uids, allocated=now.consumed)
