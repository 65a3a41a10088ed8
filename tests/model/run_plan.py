"""Plans, carried out on the model and checked."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from tests.model.environment import ModelEnvironment
from tests.model.event_loop import new_model_loop
from tests.support.checks.operation_invariants import (
    FinalState,
    check_all_served,
    check_invariants,
    check_refused_have_nothing,
)
from tests.support.faults.faulty_gateway import CallFault
from tests.support.faults.schedule import Schedule
from tests.support.faults.schedule_plan import SchedulePlan, has_stock_for_all, random_plan


def run_and_check_all(seeds: Iterable[int]) -> Iterator[FinalState]:
    """Run the plan of each seed, one after the other."""
    with asyncio.Runner(loop_factory=new_model_loop) as runner:
        for seed in seeds:
            yield runner.run(run_and_check(seed))


async def run_and_check(seed: int) -> FinalState:
    """Run the plan of a seed; AssertionError names the seed and what did not hold."""
    plan = model_plan(seed)
    try:
        rest = await run_plan(plan)
        check_invariants(rest)
        if plan.callers_each == 1:
            check_refused_have_nothing(rest)
        if has_stock_for_all(plan) and CallFault.QUOTA_EXCEEDED not in plan.faults:
            check_all_served(rest)
    except* AssertionError as errors:
        raise AssertionError(f"seed {seed}, {plan}: {errors.exceptions}") from errors
    return rest


def model_plan(seed: int) -> SchedulePlan:
    """Also with quotas that are full from time to time."""
    plan = random_plan(seed)
    is_narrow = bool(plan.faults) and Random(seed).choice([False, False, True])
    full = {CallFault.QUOTA_EXCEEDED: 5} if is_narrow else {}
    return replace(plan, faults={**plan.faults, **full})


async def run_plan(plan: SchedulePlan) -> FinalState:
    """What is left of a run; calls pass one by one, in an order that the seed decides."""
    randomness = Random(plan.seed)
    world = ModelEnvironment(randomness)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(Schedule(plan, world, randomness).run())
        await world.clock.run_until(running)
    return running.result()
