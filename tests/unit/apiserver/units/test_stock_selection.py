"""Tests of stock selection: each candidate of one list call is used once, and for a short time."""

from random import Random

from apiserver.units.stock_selection import StockCandidates
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec

STOCK_UNITS = [
    GPUUnit(metadata=ObjectMeta(name=f"s-{n}"), spec=GPUUnitSpec(spec_name="g1.1", memory="1Gi"))
    for n in range(20)
]


def new_candidates(seed: int) -> StockCandidates:
    return StockCandidates(STOCK_UNITS, Random(seed), expires_at=1.0)


def take_all(candidates: StockCandidates) -> list[str]:
    return [unit.metadata.name for _ in STOCK_UNITS if (unit := candidates.take(0.5)) is not None]


def test_each_stock_candidate_is_returned_once() -> None:
    candidates = new_candidates(1)

    assert sorted(take_all(candidates)) == sorted(unit.metadata.name for unit in STOCK_UNITS)
    assert candidates.take(0.5) is None


def test_two_processes_choose_in_different_orders() -> None:
    assert take_all(new_candidates(1)) != take_all(new_candidates(2))


def test_expired_stock_candidates_are_not_returned() -> None:
    assert new_candidates(1).take(1.0) is None
