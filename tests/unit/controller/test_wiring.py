"""Tests of the construction of a controller process: its election, and its controllers."""

import asyncio
from random import Random
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller import kinds
from controller.config import Config
from controller.kinds import GPU_STORAGES, GPU_UNITS, OPERATIONS, STOCK_POOLS
from controller.runtime import Client, Kind, Manager, ManagerOptions, ObjectKey
from controller.runtime.leader.factory import election_settings
from controller.runtime.leader.rules import ElectionSettingsError
from controller.wiring import PROGRAM_NAME, declare_controllers
from shared.config.duration import Duration
from shared.config.leader_election import LeaderElectionConfig
from tests.support.clocks.virtual_clock import VirtualClock
from tests.unit.controller.runtime.process.in_memory_api import InMemoryApi


def test_the_default_election_durations_are_those_of_client_go() -> None:
    settings = election_settings(LeaderElectionConfig())
    assert (
        settings.lease_duration_seconds,
        settings.renew_deadline_seconds,
        settings.retry_period_seconds,
    ) == (15, 10, 2)


@pytest.mark.parametrize(
    ("lease", "renew", "retry", "message"),
    [
        (10, 10, 2, "the lease must be longer than the renew deadline"),
        (15, 2, 2, "the renew deadline must be above"),
        (15.5, 10, 2, "must be whole seconds"),
    ],
)
def test_election_durations_that_allow_two_leaders_are_rejected_with_the_reason(
    lease: float, renew: float, retry: float, message: str
) -> None:
    config = LeaderElectionConfig(
        lease_duration=Duration(lease),
        renew_deadline=Duration(renew),
        retry_period=Duration(retry),
    )
    with pytest.raises(ElectionSettingsError, match=f"leaderElection.*{message}"):
        election_settings(config)


@pytest.mark.parametrize(
    ("kind", "namespace"),
    [
        (GPU_UNITS, "runtime-stock"),
        (GPU_UNITS, "runtime-instance"),
        (STOCK_POOLS, "runtime-stock"),
        (GPU_STORAGES, "runtime-instance"),
        (OPERATIONS, "runtime-system"),
    ],
)
async def test_an_undecodable_object_of_each_kind_gets_a_warning_event(
    kind: Kind[Any], namespace: str
) -> None:
    api, clock, stop = InMemoryApi(*all_plurals()), VirtualClock(), asyncio.Event()
    api.put(kind.object_path(ObjectKey(namespace, "broken")), {"spec": "not an object"})
    client, options = Client(api, PROGRAM_NAME), ManagerOptions(probe_address=None)
    manager = Manager(PROGRAM_NAME, client, options, CollectorRegistry(), clock, Random(7))
    declare_controllers(manager, Config())
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run(stop))
        await clock.advance(2)
        stop.set()
    (event,) = [subject for path, subject in api.objects.items() if "/events/" in path]
    assert (event["type"], event["reason"]) == ("Warning", "Failed")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == (kind.name, "broken")


def all_plurals() -> list[str]:
    return [kind.plural for kind in vars(kinds).values() if isinstance(kind, Kind)]
