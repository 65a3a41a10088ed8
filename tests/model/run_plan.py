"""Plans, carried out on the model and checked."""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from tests.model.environment import ModelWorld
from tests.model.event_loop import model_loop
from tests.support.checks.operation_invariants import (
    Rest,
    check,
    everybody_is_served,
    who_was_refused_has_nothing,
)
from tests.support.faults.faulty_gateway import Fault
from tests.support.faults.schedule import Schedule
from tests.support.faults.schedule_plan import Plan, has_enough_for_all, plan_of


def all_checked(seeds: Iterable[int]) -> Iterator[Rest]:
    """Run the plan of each seed, one after the other."""
    with asyncio.Runner(loop_factory=model_loop) as runner:
        for seed in seeds:
            yield runner.run(checked(seed))


async def checked(seed: int) -> Rest:
    """Run the plan of a seed; AssertionError names the seed and what did not hold."""
    plan = plan_on_the_model(seed)
    try:
        rest = await carried_out(plan)
        check(rest)
        if plan.callers_each == 1:
            who_was_refused_has_nothing(rest)
        if has_enough_for_all(plan) and Fault.FULL not in plan.faults:
            everybody_is_served(rest)
    except* AssertionError as errors:
        raise AssertionError(f"seed {seed}, {plan}: {errors.exceptions}") from errors
    return rest


def plan_on_the_model(seed: int) -> Plan:
    """Also with quotas that are full from time to time."""
    plan = plan_of(seed)
    is_narrow = bool(plan.faults) and Random(seed).choice([False, False, True])
    full = {Fault.FULL: 5} if is_narrow else {}
    return replace(plan, faults={**plan.faults, **full})


async def carried_out(plan: Plan) -> Rest:
    """What is left of a run; calls pass one by one, in an order that the seed decides."""
    randomness = Random(plan.seed)
    world = ModelWorld(randomness)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(Schedule(plan, world, randomness).run())
        await world.clock.drive(running)
    return running.result()
