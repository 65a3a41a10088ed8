"""Tests of scaling: the units that a pool deletes, and the number that it creates."""

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.stockpool.scaling import (
    MAX_CREATES,
    ScalingPlan,
    free_names,
    max_unavailable,
    plan_scaling,
)
from controller.stockpool.stock import is_outdated, is_unit_ready, unclaimed_units
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitStatus
from shared.v1alpha1.phases import UnitPhase
from shared.v1alpha1.stockpool import StockPool
from tests.unit.controller.stockpool.pool_objects import new_pool, new_unit

PROGRESSING = UnitPhase.PROGRESSING
OLD = {"memory": "8Gi"}


def deleted_names(plan: ScalingPlan) -> list[str]:
    return [unit.metadata.name for unit in plan.to_delete]


def test_an_empty_pool_is_filled() -> None:
    assert plan_scaling(new_pool(3), []) == ScalingPlan(create_count=3)


def test_a_full_pool_needs_no_change() -> None:
    assert plan_scaling(new_pool(2), [new_unit(0), new_unit(1)]).is_idle


def test_a_large_pool_is_filled_in_steps() -> None:
    assert plan_scaling(new_pool(1000), []).create_count == MAX_CREATES


def test_units_without_a_node_are_deleted_first_then_unready_then_young_units() -> None:
    stock = [new_unit(0), new_unit(1), new_unit(2, PROGRESSING, node="n"), new_unit(3, PROGRESSING)]
    assert deleted_names(plan_scaling(new_pool(0), stock)) == [
        "warm-3",
        "warm-2",
        "warm-1",
        "warm-0",
    ]


def test_of_units_created_in_one_second_the_higher_number_is_younger() -> None:
    assert deleted_names(plan_scaling(new_pool(1), [new_unit(9), new_unit(10)])) == ["warm-10"]


def test_outdated_ready_units_are_deleted_before_other_ready_units() -> None:
    assert deleted_names(plan_scaling(new_pool(1), [new_unit(0, **OLD), new_unit(1)])) == ["warm-0"]


def test_current_units_that_are_not_ready_are_not_replaced() -> None:
    stock = [new_unit(0, PROGRESSING), new_unit(1, UnitPhase.FAILED)]
    assert plan_scaling(new_pool(2), stock).is_idle


def test_max_unavailable_limits_the_number_of_new_units() -> None:
    stock = [new_unit(0), new_unit(1, PROGRESSING)]
    assert plan_scaling(new_pool(5, max_unavailable=2), stock).create_count == 1


def test_outdated_units_that_are_not_ready_are_replaced_at_once() -> None:
    stock = [new_unit(number, PROGRESSING, **OLD) for number in range(3)]
    assert plan_scaling(new_pool(3), stock) == ScalingPlan(tuple(reversed(stock)), create_count=3)


@pytest.mark.parametrize(("replicas", "expected"), [(1, 1), (4, 1), (8, 2), (100, 25)])
def test_ready_units_are_replaced_a_quarter_at_a_time(replicas: int, expected: int) -> None:
    stock = [new_unit(number, **OLD) for number in range(replicas)]
    plan = plan_scaling(new_pool(replicas), stock)
    assert (len(plan.to_delete), plan.create_count) == (expected, expected)


def test_ready_units_are_kept_while_their_replacements_find_no_node() -> None:
    stock = [new_unit(0, **OLD), new_unit(1, **OLD), new_unit(2, **OLD), new_unit(4, PROGRESSING)]
    assert plan_scaling(new_pool(4), stock).is_idle


@pytest.mark.parametrize("field", ["cpu", "memory", "shm_size", "gpu_resource", "spec_name"])
def test_every_resource_field_makes_a_unit_outdated(field: str) -> None:
    changed: dict[str, Any] = {field: "2"}
    assert is_outdated(new_pool(**changed), new_unit(0))
    assert not is_outdated(new_pool(**changed), new_unit(0, **changed))


def test_new_names_have_the_lowest_free_numbers() -> None:
    assert free_names("warm", 3, {"warm-0", "warm-2"}.__contains__) == [
        "warm-1",
        "warm-3",
        "warm-4",
    ]


def test_unit_names_of_pools_with_long_names_are_shortened_and_differ() -> None:
    made = free_names("p" * 63, 3, lambda _: False)
    assert len(set(made)) == 3
    assert {len(name) for name in made} == {63}


phases = st.sampled_from([UnitPhase.READY, UnitPhase.PROGRESSING, UnitPhase.FAILED])


@st.composite
def units(draw: st.DrawFn) -> list[GPUUnit]:
    """Draw units of a pool in any state: claimed, terminating, outdated, ready or not ready."""
    return [
        new_unit(
            number,
            draw(phases),
            memory=draw(st.sampled_from(["8Gi", "16Gi"])),
            claimed=draw(st.booleans()),
            deleted_at=draw(st.sampled_from([None, "2026-11-16T00:00:00Z"])),
        )
        for number in range(draw(st.integers(0, 12)))
    ]


pools = st.builds(
    new_pool,
    st.integers(0, 10),
    max_unavailable=st.none() | st.integers(1, 4),
)


@given(pools, units())
def test_a_plan_never_exceeds_the_replicas_and_never_deletes_claimed_units(
    pool: StockPool, units: list[GPUUnit]
) -> None:
    stock = unclaimed_units(pool, units)
    plan = plan_scaling(pool, stock)
    assert {unit.metadata.uid for unit in plan.to_delete} <= {unit.metadata.uid for unit in stock}
    assert plan.create_count >= 0
    assert len(stock) - len(plan.to_delete) + plan.create_count <= pool.spec.replicas


@given(pools, units())
def test_ready_units_are_replaced_only_within_the_bound(
    pool: StockPool, units: list[GPUUnit]
) -> None:
    stock = unclaimed_units(pool, units)
    deleted = {unit.metadata.uid for unit in plan_scaling(pool, stock).to_delete}
    ready = [unit for unit in stock if is_unit_ready(unit)]
    remaining = [unit for unit in ready if unit.metadata.uid not in deleted]
    enough = pool.spec.replicas - max_unavailable(pool)
    assert len(remaining) >= min(len(ready), enough)


@given(pools, units())
def test_a_pool_whose_units_start_converges(pool: StockPool, units: list[GPUUnit]) -> None:
    numbers, stock = itertools.count(100), unclaimed_units(pool, units)
    for _ in range(60):
        plan = plan_scaling(pool, stock)
        if plan.is_idle and all(is_unit_ready(unit) for unit in stock):
            break
        stock = started(applied(plan, stock, numbers))
    assert [is_outdated(pool, unit) for unit in stock] == [False] * pool.spec.replicas


def applied(
    plan: ScalingPlan, stock: Sequence[GPUUnit], numbers: "itertools.count[int]"
) -> list[GPUUnit]:
    deleted = {unit.metadata.uid for unit in plan.to_delete}
    remaining = [unit for unit in stock if unit.metadata.uid not in deleted]
    return remaining + [new_unit(next(numbers), PROGRESSING) for _ in range(plan.create_count)]


def started(stock: Sequence[GPUUnit]) -> list[GPUUnit]:
    """Return the same units, of which one more is ready."""
    starting = next((unit for unit in stock if not is_unit_ready(unit)), None)
    now_ready = GPUUnitStatus(phase=UnitPhase.READY, node_name="n")
    return [
        msgspec.structs.replace(unit, status=now_ready) if unit is starting else unit
        for unit in stock
    ]
