"""Operations that take effect once or not at all, on a real server with the real controller.

The replicas of the API run in the test's process, so that each of their calls can fail.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from random import Random

import pytest

from apiserver.stock_units.commands import SeedStock
from apiserver.units.commands import CreateUnit
from tests.support.checks.operation_invariants import (
    CallerResult,
    check_all_served,
    check_invariants,
)
from tests.support.checks.operations_snapshot import final_state
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.faults.api_replicas import ApiReplicas
from tests.support.faults.fault_at_nth_call import AfterFault, FaultyRuns
from tests.support.faults.faulty_gateway import CallFault
from tests.support.faults.real_environment import RealEnvironment, new_real_environment
from tests.support.faults.retrying_callers import call_once
from tests.support.faults.schedule import Schedule
from tests.support.faults.schedule_plan import has_stock_for_all, random_plan
from tests.support.wait.eventually import eventually

KILLS = (CallFault.KILLED_BEFORE, CallFault.KILLED_AFTER)
FAULTS = tuple(
    fault for fault in CallFault if fault not in (CallFault.NONE, CallFault.QUOTA_EXCEEDED, *KILLS)
)
CALLS_OF_A_CREATE = 7
CALLS_OF_A_SEED = 5
SEEDED = 3
REPLICAS = 3
BATCH = 10
FINISHED_SECONDS = 3600.0

pytestmark = pytest.mark.timeout(900)  # half a minute, but longer on a slow machine


def creates(mark: str) -> Iterator[CreateUnit | SeedStock]:
    for number in itertools.count():
        yield CreateUnit(f"{mark}-{number}", f"{mark}-{number}", "g", "example/image:1")


def seeds(mark: str) -> Iterator[CreateUnit | SeedStock]:
    for number in itertools.count():
        yield SeedStock(f"{mark}-{number}", "g", SEEDED, memory="1Mi", gpu=0)


def marks(faults: tuple[CallFault, ...]) -> list[tuple[CallFault, str]]:
    return [(fault, fault.name.lower().replace("_", "-")) for fault in faults]


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_create_survives_a_kill_at_every_call(
    installation: IsolatedInstallation, ending: AfterFault
) -> None:
    async with new_real_environment(installation) as world:
        by_hand = await world.create_all_ready_stock(2 * CALLS_OF_A_CREATE + 4, "g")
        struck = FaultyRuns(world, Random(0), ending)
        calls = [await struck.fault_every_call(creates(mark), kill) for kill, mark in marks(KILLS)]
        rest = final_state(
            await world.wait_final_snapshot(), struck.results, created_by_hand=by_hand
        )

    check_invariants(rest)
    assert min(calls) >= CALLS_OF_A_CREATE  # more if the controller closes the operation first


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_seed_survives_a_kill_at_every_call(
    installation: IsolatedInstallation, ending: AfterFault
) -> None:
    async with new_real_environment(installation) as world:
        struck = FaultyRuns(world, Random(0), ending)
        calls = [await struck.fault_every_call(seeds(mark), kill) for kill, mark in marks(KILLS)]
        rest = final_state(await world.wait_final_snapshot(), struck.results)

    check_invariants(rest)
    assert min(calls) >= CALLS_OF_A_SEED


async def test_any_call_of_a_create_may_fail_in_any_way(installation: IsolatedInstallation) -> None:
    async with new_real_environment(installation) as world:
        by_hand = await world.create_all_ready_stock(len(FAULTS) * (CALLS_OF_A_CREATE + 2), "g")
        struck = FaultyRuns(world, Random(0))
        await asyncio.gather(
            *(struck.fault_every_call(creates(mark), fault) for fault, mark in marks(FAULTS))
        )
        rest = final_state(
            await world.wait_final_snapshot(), struck.results, created_by_hand=by_hand
        )

    check_invariants(rest)
    check_all_served(rest)


async def test_no_call_of_a_seed_that_fails_once_fails_the_job(
    installation: IsolatedInstallation,
) -> None:
    async with new_real_environment(installation) as world:
        struck = FaultyRuns(world, Random(0))
        await asyncio.gather(
            *(struck.fault_every_call(seeds(mark), fault) for fault, mark in marks(FAULTS))
        )
        rest = final_state(await world.wait_final_snapshot(), struck.results)

    check_invariants(rest)
    assert {record.status.attempt for record in rest.operations} == {0}, rest.operations


@pytest.mark.parametrize("first", range(0, 50, BATCH))
async def test_the_invariants_hold_in_random_schedules(
    installation: IsolatedInstallation, first: int
) -> None:
    """Run several schedules in parallel; a failure names its seed."""
    async with new_real_environment(installation) as world, asyncio.TaskGroup() as group:
        for seed in range(first, first + BATCH):
            group.create_task(checked(world, seed))


async def told(
    world: RealEnvironment, commands: list[CreateUnit | SeedStock]
) -> list[CallerResult]:
    """Send all commands at once; return the answers.

    Each command goes to the replicas in turn until one answers.
    """
    processes, turns = world.processes(Random(0)), itertools.count()
    replicas = ApiReplicas(lambda: processes.new(world.gateway()))

    async def one(command: CreateUnit | SeedStock) -> CallerResult:
        while True:
            answer = await call_once(replicas.alive[next(turns) % REPLICAS], command)
            if answer and (answer.unit_uid or answer.error_code):
                return answer

    async with asyncio.TaskGroup() as group:
        kept = [group.create_task(replicas.run_replica()) for _ in range(REPLICAS)]
        with closing(replicas):
            await eventually(lambda: all_alive(replicas))
            answers = await asyncio.gather(*map(one, commands))
        for task in kept:
            task.cancel()
    return answers


async def all_alive(replicas: ApiReplicas) -> bool:
    return len(replicas.alive) == REPLICAS


async def checked(world: RealEnvironment, seed: int) -> None:
    plan = random_plan(seed)
    rest = await Schedule(plan, world, Random(seed)).run()
    try:
        check_invariants(rest)
        if has_stock_for_all(plan):
            check_all_served(rest)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {plan}: {error}") from error


@pytest.mark.parametrize(("stock", "refused"), [(50, 0), (30, 20)])
async def test_fifty_creates_at_once_get_all_the_stock_there_is(
    installation: IsolatedInstallation, stock: int, refused: int
) -> None:
    async with new_real_environment(installation) as world:
        by_hand = await world.create_all_ready_stock(stock, "g")
        commands = list(itertools.islice(creates("at-once"), 50))
        answers = await told(world, commands)
        rest = final_state(await world.wait_final_snapshot(), answers, created_by_hand=by_hand)

    check_invariants(rest)
    codes = Counter(answer.error_code for answer in answers)
    assert codes == Counter({"": stock, "insufficient_capacity": refused})


async def test_one_operation_sent_to_all_replicas_at_once_is_new_once(
    installation: IsolatedInstallation,
) -> None:
    # A response before the end does not tell whether the operation was new.
    async with new_real_environment(installation, api_wait_seconds=FINISHED_SECONDS) as world:
        by_hand = await world.create_all_ready_stock(25, "g")
        commands = list(itertools.islice(creates("same"), 20))
        answers = await told(world, [each for each in commands for _ in range(REPLICAS)])
        rest = final_state(await world.wait_final_snapshot(), answers, created_by_hand=by_hand)

    check_invariants(rest)
    check_all_served(rest)
    news = Counter(answer.operation_id for answer in answers if answer.is_new)
    assert news == Counter(command.operation_id for command in commands)
    assert len(rest.units) == len(commands)
