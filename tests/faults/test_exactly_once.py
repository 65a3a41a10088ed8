"""An operation takes effect once or not at all: on a real server, with the real controller.

The replicas of the API run in the test's process, so that each of their calls can go wrong.
"""

import itertools
from random import Random

import pytest

from apiserver.commands import CreateUnit, SeedStock
from tests.support.faulty import Fault
from tests.support.invariants import check
from tests.support.real_world import real_world
from tests.support.site import Site
from tests.support.snapshot import rest_of
from tests.support.struck import Strike, Struck

KILLS = (Fault.KILLED_BEFORE, Fault.KILLED_AFTER)
FAULTS = tuple(fault for fault in Fault if fault not in (Fault.NONE, *KILLS))
CALLS_OF_A_CREATE = 8
CALLS_OF_A_SEED = 5
AT_ONCE = 10
SEEDED = 3


def a_create(operation_id: str) -> CreateUnit:
    return CreateUnit(operation_id, operation_id, "g", "example/image:1")


def a_seed(operation_id: str) -> SeedStock:
    return SeedStock(operation_id, "g", SEEDED, memory="1Mi", gpu=0)


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_create_survives_a_kill_at_every_call(site: Site, ending: str) -> None:
    async with real_world(site) as world:
        by_hand = await world.put_all(2 * CALLS_OF_A_CREATE + 4, "g")
        struck = Struck(world, Random(0))
        points = 0
        for kill in KILLS:
            for at in itertools.count(1):
                command, strike = a_create(f"c-{kill.name.lower()[7:]}-{at}"), Strike(at, kill)
                await struck.send(command, strike)
                await (struck.replay(command) if ending == "replay" else struck.resume())
                if not strike.has_come:
                    break
                points += 1
        rest = rest_of(await world.left(), struck.answers, by_hand=by_hand)

    check(rest)
    assert points >= 2 * CALLS_OF_A_CREATE


@pytest.mark.parametrize("ending", ["replay", "resume"])
async def test_a_seed_survives_a_kill_at_every_call(site: Site, ending: str) -> None:
    async with real_world(site) as world:
        struck = Struck(world, Random(0))
        points = 0
        for kill in KILLS:
            for at in itertools.count(1):
                command, strike = a_seed(f"s-{kill.name.lower()[7:]}-{at}"), Strike(at, kill)
                await struck.send(command, strike)
                await (struck.replay(command) if ending == "replay" else struck.resume())
                if not strike.has_come:
                    break
                points += 1
        rest = rest_of(await world.left(), struck.answers)

    check(rest)
    assert points >= 2 * CALLS_OF_A_SEED


async def test_any_call_of_a_create_may_fail_in_any_way(site: Site) -> None:
    async with real_world(site) as world:
        by_hand = await world.put_all(len(FAULTS) * (CALLS_OF_A_CREATE + 2), "g")
        struck = Struck(world, Random(0))
        for fault in FAULTS:
            for at in itertools.count(1):
                command, strike = a_create(f"c-{fault.value}-{at}"), Strike(at, fault)
                await struck.send(command, strike)
                await struck.replay(command)
                if not strike.has_come:
                    break
        rest = rest_of(await world.left(), struck.answers, by_hand=by_hand)

    check(rest)
    everybody_is_served(rest)


async def test_any_call_of_a_seed_may_fail_in_any_way(site: Site) -> None:
    async with real_world(site) as world:
        struck = Struck(world, Random(0))
        for fault in FAULTS:
            for at in itertools.count(1):
                command, strike = a_seed(f"s-{fault.value}-{at}"), Strike(at, fault)
                await struck.send(command, strike)
                await struck.replay(command)
                if not strike.has_come:
                    break
        rest = rest_of(await world.left(), struck.answers)

    check(rest)
    everybody_is_served(rest)
