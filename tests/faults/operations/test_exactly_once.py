"""An operation takes effect once or not at all: on a real server, with the real controller.

The replicas of the API run in the test's process, so that each of their calls can go wrong.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest

from apiserver.commands import CreateUnit, SeedStock
from tests.support.checks.operation_invariants import Answer, check, everybody_is_served
from tests.support.checks.operations_snapshot import rest_of
from tests.support.cluster.api_replicas import Replicas
from tests.support.cluster.isolated_installation import Site
from tests.support.cluster.real_environment import RealWorld, real_world
from tests.support.faults.fault_at_nth_call import Ending, Struck
from tests.support.faults.faulty_gateway import Fault
from tests.support.faults.retrying_callers import ask
from tests.support.faults.schedule import Schedule
from tests.support.faults.schedule_plan import has_enough_for_all, plan_of
from tests.support.wait.eventually import eventually

KILLS = (Fault.KILLED_BEFORE, Fault.KILLED_AFTER)
FAULTS = tuple(fault for fault in Fault if fault not in (Fault.NONE, Fault.FULL, *KILLS))
CALLS_OF_A_CREATE = 7
CALLS_OF_A_SEED = 5
SEEDED = 3
REPLICAS = 3
BATCH = 10
FINISHED_SECONDS = 3600.0

pytestmark = pytest.mark.timeout(900)  # half a minute, but not on every machine


def creates(mark: str) -> Iterator[CreateUnit | SeedStock]:
    for number in itertools.count():
        yield CreateUnit(f"{mark}-{number}", f"{mark}-{number}", "g", "example/image:1")


def seeds(mark: str) -> Iterator[CreateUnit | SeedStock]:
    for number in itertools.count():
        yield SeedStock(f"{mark}-{number}", "g", SEEDED, memory="1Mi", gpu=0)


def marks(faults: tuple[Fault, ...]) -> list[tuple[Fault, str]]:
    return [(fault, fault.name.lower().replace("_", "-")) for fault in faults]


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_create_survives_a_kill_at_every_call(site: Site, ending: Ending) -> None:
    async with real_world(site) as world:
        by_hand = await world.put_all(2 * CALLS_OF_A_CREATE + 4, "g")
        struck = Struck(world, Random(0), ending)
        calls = [await struck.strike_all(creates(mark), kill) for kill, mark in marks(KILLS)]
        rest = rest_of(await world.left(), struck.answers, by_hand=by_hand)

    check(rest)
    assert min(calls) >= CALLS_OF_A_CREATE  # more where the controller closes the record first


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_seed_survives_a_kill_at_every_call(site: Site, ending: Ending) -> None:
    async with real_world(site) as world:
        struck = Struck(world, Random(0), ending)
        calls = [await struck.strike_all(seeds(mark), kill) for kill, mark in marks(KILLS)]
        rest = rest_of(await world.left(), struck.answers)

    check(rest)
    assert min(calls) >= CALLS_OF_A_SEED


async def test_any_call_of_a_create_may_fail_in_any_way(site: Site) -> None:
    async with real_world(site) as world:
        by_hand = await world.put_all(len(FAULTS) * (CALLS_OF_A_CREATE + 2), "g")
        struck = Struck(world, Random(0))
        await asyncio.gather(
            *(struck.strike_all(creates(mark), fault) for fault, mark in marks(FAULTS))
        )
        rest = rest_of(await world.left(), struck.answers, by_hand=by_hand)

    check(rest)
    everybody_is_served(rest)


async def test_no_call_of_a_seed_that_fails_once_fails_the_job(site: Site) -> None:
    async with real_world(site) as world:
        struck = Struck(world, Random(0))
        await asyncio.gather(
            *(struck.strike_all(seeds(mark), fault) for fault, mark in marks(FAULTS))
        )
        rest = rest_of(await world.left(), struck.answers)

    check(rest)
    assert {record.status.attempt for record in rest.records} == {0}, rest.records


@pytest.mark.parametrize("first", range(0, 50, BATCH))
async def test_the_invariants_hold_whatever_happens(site: Site, first: int) -> None:
    """Several schedules beside each other; a failure names its seed."""
    async with real_world(site) as world, asyncio.TaskGroup() as group:
        for seed in range(first, first + BATCH):
            group.create_task(checked(world, seed))


async def told(world: RealWorld, commands: list[CreateUnit | SeedStock]) -> list[Answer]:
    """The answers to all of them at once, sent to each replica in turn until there is one."""
    processes, turns = world.processes(Random(0)), itertools.count()
    replicas = Replicas(lambda: processes.new(world.cluster()))

    async def one(command: CreateUnit | SeedStock) -> Answer:
        while True:
            answer = await ask(replicas.alive[next(turns) % REPLICAS], command)
            if answer and (answer.uid or answer.code):
                return answer

    async with asyncio.TaskGroup() as group:
        kept = [group.create_task(replicas.keep_one()) for _ in range(REPLICAS)]
        with closing(replicas):
            await eventually(lambda: all_alive(replicas))
            answers = await asyncio.gather(*map(one, commands))
        for task in kept:
            task.cancel()
    return answers


async def all_alive(replicas: Replicas) -> bool:
    return len(replicas.alive) == REPLICAS


async def checked(world: RealWorld, seed: int) -> None:
    plan = plan_of(seed)
    rest = await Schedule(plan, world, Random(seed)).run()
    try:
        check(rest)
        if has_enough_for_all(plan):
            everybody_is_served(rest)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {plan}: {error}") from error


@pytest.mark.parametrize(("stock", "refused"), [(50, 0), (30, 20)])
async def test_fifty_creates_at_once_get_all_the_stock_there_is(
    site: Site, stock: int, refused: int
) -> None:
    async with real_world(site) as world:
        by_hand = await world.put_all(stock, "g")
        commands = list(itertools.islice(creates("at-once"), 50))
        answers = await told(world, commands)
        rest = rest_of(await world.left(), answers, by_hand=by_hand)

    check(rest)
    codes = Counter(answer.code for answer in answers)
    assert codes == Counter({"": stock, "insufficient_capacity": refused})


async def test_one_operation_sent_to_all_replicas_at_once_is_new_once(site: Site) -> None:
    # An answer that comes before the end does not say whether the operation was new.
    async with real_world(site, seconds=FINISHED_SECONDS) as world:
        by_hand = await world.put_all(25, "g")
        commands = list(itertools.islice(creates("same"), 20))
        answers = await told(world, [each for each in commands for _ in range(REPLICAS)])
        rest = rest_of(await world.left(), answers, by_hand=by_hand)

    check(rest)
    everybody_is_served(rest)
    news = Counter(answer.operation_id for answer in answers if answer.is_new)
    assert news == Counter(command.operation_id for command in commands)
    assert len(rest.units) == len(commands)
