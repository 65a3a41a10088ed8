"""Random plans: a seed gives the whole run."""

from random import Random

from tests.model.client import Fault
from tests.model.schedule import Plan, Schedule
from tests.support.invariants import Rest, check

FAILING = {
    Fault.UNREACHABLE: 3,
    Fault.LOST_ANSWER: 4,
    Fault.BUSY: 2,
    Fault.SERVER_ERROR: 2,
}
DYING = {**FAILING, Fault.KILLED_BEFORE: 2, Fault.KILLED_AFTER: 2}
CALM: dict[Fault, int] = {}


def plan_of(seed: int) -> Plan:
    """About as much stock as is asked for, one to three replicas, every second run with deaths."""
    randomness = Random(seed)
    operations = randomness.randrange(1, 7)
    return Plan(
        seed,
        stock=max(0, operations + randomness.choice([-2, -1, 0, 0, 0, 1, 2])),
        operations=operations,
        replicas=randomness.randrange(1, 4),
        callers_each=randomness.randrange(1, 4),
        late_stock=randomness.randrange(3),
        deletions=randomness.randrange(3),
        faults=randomness.choice([CALM, FAILING, FAILING, DYING, DYING, DYING]),
        storages=randomness.choice([0, 0, 1, 3]),
    )


async def checked(seed: int) -> Rest:
    """Run the plan of a seed; AssertionError names the seed and what did not hold."""
    plan = plan_of(seed)
    try:
        rest = await Schedule(plan).run()
        check(rest)
        everybody_is_served(plan, rest)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {plan}: {error}") from error
    return rest


def everybody_is_served(plan: Plan, rest: Rest) -> None:
    """Where there is stock for all of them, nobody is sent away for good."""
    served = {answer.operation_id for answer in rest.answers if answer.uid}
    sent_away = {answer.operation_id for answer in rest.answers if answer.code} - served
    assert plan.stock < plan.operations or plan.storages or not sent_away, f"sent away: {sent_away}"
