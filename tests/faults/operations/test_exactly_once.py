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

KILL_FAULTS = (CallFault.KILLED_BEFORE, CallFault.KILLED_AFTER)
FAULTS = tuple(
    fault
    for fault in CallFault
    if fault not in (CallFault.NONE, CallFault.QUOTA_EXCEEDED, *KILL_FAULTS)
)
CALLS_OF_A_CREATE = 7
CALLS_OF_A_SEED = 5
SEEDED = 3
REPLICAS = 3
BATCH = 10
LONG_WAIT_SECONDS = 3600.0

pytestmark = pytest.mark.timeout(900)  # half a minute, but longer on a slow machine


def creates(name: str) -> Iterator[CreateUnit | SeedStock]:
    for number in itertools.count():
        yield CreateUnit(f"{name}-{number}", f"{name}-{number}", "g", "example/image:1")


def seeds(name: str) -> Iterator[CreateUnit | SeedStock]:
    for number in itertools.count():
        yield SeedStock(f"{name}-{number}", "g", SEEDED, memory="1Mi", gpu=0)


def named_faults(faults: tuple[CallFault, ...]) -> list[tuple[CallFault, str]]:
    return [(fault, fault.name.lower().replace("_", "-")) for fault in faults]


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_create_survives_a_kill_at_every_call(
    installation: IsolatedInstallation, ending: AfterFault
) -> None:
    async with new_real_environment(installation) as environment:
        created_by_hand = await environment.create_all_ready_stock(2 * CALLS_OF_A_CREATE + 4, "g")
        runs = FaultyRuns(environment, Random(0), ending)
        calls = [
            await runs.fault_every_call(creates(name), kill)
            for kill, name in named_faults(KILL_FAULTS)
        ]
        state = final_state(
            await environment.wait_final_snapshot(), runs.results, created_by_hand=created_by_hand
        )

    check_invariants(state)
    assert min(calls) >= CALLS_OF_A_CREATE  # more if the controller closes the operation first


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_seed_survives_a_kill_at_every_call(
    installation: IsolatedInstallation, ending: AfterFault
) -> None:
    async with new_real_environment(installation) as environment:
        runs = FaultyRuns(environment, Random(0), ending)
        calls = [
            await runs.fault_every_call(seeds(name), kill)
            for kill, name in named_faults(KILL_FAULTS)
        ]
        state = final_state(await environment.wait_final_snapshot(), runs.results)

    check_invariants(state)
    assert min(calls) >= CALLS_OF_A_SEED


async def test_a_create_survives_every_fault_at_every_call(
    installation: IsolatedInstallation,
) -> None:
    async with new_real_environment(installation) as environment:
        created_by_hand = await environment.create_all_ready_stock(
            len(FAULTS) * (CALLS_OF_A_CREATE + 2), "g"
        )
        runs = FaultyRuns(environment, Random(0))
        await asyncio.gather(
            *(runs.fault_every_call(creates(name), fault) for fault, name in named_faults(FAULTS))
        )
        state = final_state(
            await environment.wait_final_snapshot(), runs.results, created_by_hand=created_by_hand
        )

    check_invariants(state)
    check_all_served(state)


async def test_a_seed_survives_every_fault_at_every_call(
    installation: IsolatedInstallation,
) -> None:
    async with new_real_environment(installation) as environment:
        runs = FaultyRuns(environment, Random(0))
        await asyncio.gather(
            *(runs.fault_every_call(seeds(name), fault) for fault, name in named_faults(FAULTS))
        )
        state = final_state(await environment.wait_final_snapshot(), runs.results)

    check_invariants(state)
    assert {operation.status.attempt for operation in state.operations} == {0}, state.operations


@pytest.mark.parametrize("first", range(0, 50, BATCH))
async def test_the_invariants_hold_in_random_schedules(
    installation: IsolatedInstallation, first: int
) -> None:
    """Run several schedules in parallel; a failure names its seed."""
    async with new_real_environment(installation) as environment, asyncio.TaskGroup() as group:
        for seed in range(first, first + BATCH):
            group.create_task(run_and_check(environment, seed))


async def send_all(
    environment: RealEnvironment, commands: list[CreateUnit | SeedStock]
) -> list[CallerResult]:
    """Send all commands at once; return their results.

    Each command goes to the replicas in turn until one returns a result.
    """
    processes, turns = environment.processes(Random(0)), itertools.count()
    replicas = ApiReplicas(lambda: processes.new(environment.gateway()))

    async def send(command: CreateUnit | SeedStock) -> CallerResult:
        while True:
            result = await call_once(replicas.alive[next(turns) % REPLICAS], command)
            if result and (result.unit_uid or result.error_code):
                return result

    async with asyncio.TaskGroup() as group:
        replica_tasks = [group.create_task(replicas.run_replica()) for _ in range(REPLICAS)]
        with closing(replicas):
            await eventually(lambda: all_alive(replicas))
            results = await asyncio.gather(*map(send, commands))
        for task in replica_tasks:
            task.cancel()
    return results


async def all_alive(replicas: ApiReplicas) -> bool:
    return len(replicas.alive) == REPLICAS


async def run_and_check(environment: RealEnvironment, seed: int) -> None:
    plan = random_plan(seed)
    state = await Schedule(plan, environment, Random(seed)).run()
    try:
        check_invariants(state)
        if has_stock_for_all(plan):
            check_all_served(state)
    except AssertionError as error:
        raise AssertionError(f"seed {seed}, {plan}: {error}") from error


@pytest.mark.parametrize(("stock", "refused"), [(50, 0), (30, 20)])
async def test_fifty_concurrent_creates_get_all_stock(
    installation: IsolatedInstallation, stock: int, refused: int
) -> None:
    async with new_real_environment(installation) as environment:
        created_by_hand = await environment.create_all_ready_stock(stock, "g")
        commands = list(itertools.islice(creates("at-once"), 50))
        results = await send_all(environment, commands)
        state = final_state(
            await environment.wait_final_snapshot(), results, created_by_hand=created_by_hand
        )

    check_invariants(state)
    codes = Counter(result.error_code for result in results)
    assert codes == Counter({"": stock, "insufficient_capacity": refused})


async def test_an_operation_sent_to_all_replicas_at_the_same_time_is_new_once(
    installation: IsolatedInstallation,
) -> None:
    # A response before the end does not show whether the operation was new.
    async with new_real_environment(
        installation, api_wait_seconds=LONG_WAIT_SECONDS
    ) as environment:
        created_by_hand = await environment.create_all_ready_stock(25, "g")
        commands = list(itertools.islice(creates("same"), 20))
        results = await send_all(
            environment, [command for command in commands for _ in range(REPLICAS)]
        )
        state = final_state(
            await environment.wait_final_snapshot(), results, created_by_hand=created_by_hand
        )

    check_invariants(state)
    check_all_served(state)
    new_counts = Counter(result.operation_id for result in results if result.is_new)
    assert new_counts == Counter(command.operation_id for command in commands)
    assert len(state.units) == len(commands)
