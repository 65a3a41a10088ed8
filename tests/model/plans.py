"""Random plans: a seed gives the whole run."""

from random import Random

from tests.model.schedule import Plan, Schedule
from tests.support.faulty import Fault
from tests.support.invariants import Rest, check

FAILING = {
    Fault.UNREACHABLE: 3,
    Fault.TIMEOUT: 2,
    Fault.LOST_ANSWER: 4,
    Fault.BUSY: 2,
    Fault.CONFLICT: 2,
    Fault.SERVER_ERROR: 2,
}
DYING = {**FAILING, Fault.KILLED_BEFORE: 2, Fault.KILLED_AFTER: 2}
CALM: dict[Fault, int] = {}


def plan_of(seed: int) -> Plan:
    """About as much stock as is asked for, one to three replicas, every second run with deaths.

    Every third run also seeds stock, and operators delete some.
    """
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
        seeds=randomness.choice([(), (), (1,), (3,), (2, 2)]),
        discards=randomness.choice([0, 0, 1, 2]),
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
    enough = plan.stock - plan.discards >= plan.operations
    assert not enough or not sent_away, f"sent away: {sent_away}"
