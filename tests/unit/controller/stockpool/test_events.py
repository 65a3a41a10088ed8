"""Tests of stock pool Events: only changes are published."""

from datetime import UTC, datetime

from controller.stockpool.events import status_event
from controller.stockpool.snapshot import PoolSnapshot
from controller.stockpool.status import PoolProblem, next_status
from shared.v1alpha1.stockpool import StockPoolStatus
from tests.unit.controller.stockpool.pool_objects import new_pool

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FILLING = StockPoolStatus(phase="Progressing")


def after(text: str, *, is_invalid: bool) -> StockPoolStatus:
    return next_status(PoolSnapshot(new_pool(), ()), PoolProblem(text, is_invalid), NOW)


def event_of(old: StockPoolStatus, new: StockPoolStatus) -> tuple[str, str] | None:
    event = status_event(old, new)
    assert event is None or event.is_warning
    return None if event is None else (event.reason.value, event.message)


def test_each_spec_error_of_a_pool_causes_one_event() -> None:
    wrong, other = after("bad", is_invalid=True), after("worse", is_invalid=True)
    assert event_of(FILLING, wrong) == ("InvalidSpec", "bad")
    assert event_of(wrong, other) == ("InvalidSpec", "worse")
    assert event_of(wrong, wrong) is None


def test_a_pool_that_can_no_longer_be_filled_causes_an_event() -> None:
    short = after("exceeded quota", is_invalid=False)
    assert event_of(FILLING, short) == ("NotReady", "exceeded quota")
    assert event_of(short, after("exceeded it again", is_invalid=False)) is None
    assert event_of(short, FILLING) is None
