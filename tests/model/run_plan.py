"""The run of a plan on the model, with a check of the invariants."""

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
    """Run and check the plan of each seed, one after the other."""
    with asyncio.Runner(loop_factory=new_model_loop) as runner:
        for seed in seeds:
            yield runner.run(run_and_check(seed))


async def run_and_check(seed: int) -> FinalState:
    """Run and check the plan of a seed; AssertionError names the seed and the broken invariants."""
    plan = model_plan(seed)
    try:
        final = await run_plan(plan)
        check_invariants(final)
        if plan.callers_each == 1:
            check_refused_have_nothing(final)
        if has_stock_for_all(plan) and CallFault.QUOTA_EXCEEDED not in plan.faults:
            check_all_served(final)
    except* AssertionError as errors:
        raise AssertionError(f"seed {seed}, {plan}: {errors.exceptions}") from errors
    return final


def model_plan(seed: int) -> SchedulePlan:
    """Return the plan of a seed, in some cases with a quota that is full at times."""
    plan = random_plan(seed)
    has_quota = bool(plan.faults) and Random(seed).choice([False, False, True])
    quota_faults = {CallFault.QUOTA_EXCEEDED: 5} if has_quota else {}
    return replace(plan, faults={**plan.faults, **quota_faults})


async def run_plan(plan: SchedulePlan) -> FinalState:
    """Run a plan to its final state; the seed decides the order of the calls."""
    randomness = Random(plan.seed)
    environment = ModelEnvironment(randomness)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(Schedule(plan, environment, randomness).run())
        await environment.clock.run_until(running)
    return running.result()
