"""Tests of stock selection: each candidate of one list call is used once, and for a short time."""

from random import Random

from apiserver.units.stock_selection import StockCandidates
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec

FOUND = [
    GPUUnit(metadata=ObjectMeta(name=f"s-{n}"), spec=GPUUnitSpec(spec_name="g1.1", memory="1Gi"))
    for n in range(20)
]


def a_shelf(seed: int) -> StockCandidates:
    return StockCandidates(FOUND, Random(seed), expires_at=1.0)


def order(shelf: StockCandidates) -> list[str]:
    return [unit.metadata.name for _ in FOUND if (unit := shelf.take(0.5)) is not None]


def test_each_stock_candidate_is_returned_once() -> None:
    shelf = a_shelf(1)

    assert sorted(order(shelf)) == sorted(unit.metadata.name for unit in FOUND)
    assert shelf.take(0.5) is None


def test_two_processes_choose_in_different_orders() -> None:
    assert order(a_shelf(1)) != order(a_shelf(2))


def test_expired_stock_candidates_are_not_returned() -> None:
    assert a_shelf(1).take(1.0) is None
