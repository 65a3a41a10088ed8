"""The controller dies at any write for a storage: the next one goes on where it was.

A success is never repeated and never lost, a recovery is made once, and no lock stays behind.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.storage_lock import StorageLock
from tests.support.builders.gpu_storages import (
    a_storage,
    create,
    delete_job,
    filling,
    fillings,
    lock_in,
    recover,
    simulated,
    storage,
    storage_with,
)
from tests.support.builders.simulated_units import a_users_unit, pods_of
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import COLLECTION_SECONDS, Site, new_site
from tests.support.faults.crashing_rest_client import doomed
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import first_of

ENOUGH_WRITES = 40
AT_ONCE = 6  # sites side by side: most of the time is spent in waiting
NAME = "data"

pytestmark = pytest.mark.timeout(900)  # a minute, but not on every machine

Part = Callable[[Site], Coroutine[Any, Any, None]]


async def survives_every_write(plane: ControlPlane, begin: Part, end: Part) -> list[str]:
    """One site for each write, before and after it took effect; the calls that were the last."""
    calls: list[str] = []
    for first in range(0, 2 * ENOUGH_WRITES, AT_ONCE):
        numbers = range(first, first + AT_ONCE)
        async with asyncio.TaskGroup() as group:
            runs = [group.create_task(survives(plane, begin, end, number)) for number in numbers]
        calls += [run.result() for run in runs if run.result()]
        if not all(run.result() for run in runs):
            return calls
    raise AssertionError(f"not done within {ENOUGH_WRITES} writes: {calls}")


async def survives(plane: ControlPlane, begin: Part, end: Part, number: int) -> str:
    """The call at which the controller died; empty if there were fewer."""
    dies_at, after_sending = number // 2 + 1, number % 2 == 1
    async with new_site(plane) as site:
        await begin(site)
        async with doomed(site, dies_at=dies_at, after_sending=after_sending) as mortal:
            await first_of(end(site), mortal.died.wait())
        async with controlled(site):
            await end(site)
    return mortal.last_call


async def is_filled_and_free(site: Site) -> None:
    """Nothing is left of the filling."""
    await storage_with(site, NAME, "StorageReady")
    await site.gone("jobs", f"prepare-{NAME}")
    await site.gone("networkpolicies", f"prepare-{NAME}")
    await eventually(
        lambda: storage(site, NAME),
        lambda found: lock_in(found) is None and not found["metadata"].get("finalizers"),
    )


async def test_a_filling_survives_a_crash_at_every_write(installed: ControlPlane) -> None:
    async def begin(site: Site) -> None:
        await create(site, simulated(NAME))

    async def end(site: Site) -> None:
        await is_filled_and_free(site)
        assert await eventually(lambda: fillings(site, NAME)) == 1

    calls = await survives_every_write(installed, begin, end)

    assert any(call.startswith("POST") and "/jobs" in call for call in calls), calls
    assert any(call.startswith("DELETE") and "/jobs/" in call for call in calls), calls
    assert any("/gpustorages/" in call and "/status" in call for call in calls), calls


async def test_a_recovery_survives_a_crash_at_every_write(installed: ControlPlane) -> None:
    async def begin(site: Site) -> None:
        async with controlled(site):
            await create(site, simulated(NAME, run_for="1h"))
            await filling(site, NAME, "Running")
            await delete_job(site, NAME)
            await storage_with(site, NAME, "PrepareFailed")
            await eventually(
                lambda: held(site), lambda lock: lock is None, seconds=COLLECTION_SECONDS
            )
        labels = {"sim.local/run-for": "1s"}
        await site.admin.patch(site.path("gpustorages", NAME), {"metadata": {"labels": labels}})
        await recover(site, NAME, "r1")

    async def end(site: Site) -> None:
        await is_filled_and_free(site)
        assert await eventually(lambda: fillings(site, NAME), lambda count: count > 1) == 2

    await survives_every_write(installed, begin, end)


async def test_a_mount_survives_a_crash_at_every_write(installed: ControlPlane) -> None:
    """From the unit that takes the storage to the next that has it after the first is gone."""

    async def begin(site: Site) -> None:
        await create(site, a_storage(NAME, storageClassName="sim-wait"))
        mounts = [{"name": NAME, "mountPath": "/data"}]
        for name in ("one", "two"):
            body = a_users_unit(name, gpu=0, memory="1Mi", storageMounts=mounts)
            await site.create("gpuunits", body)

    async def end(site: Site) -> None:
        while units := await site.list("gpuunits"):
            await one_has_it_and_ends(site, {unit["metadata"]["name"] for unit in units})
        await eventually(lambda: held(site), lambda lock: lock is None, seconds=COLLECTION_SECONDS)

    await survives_every_write(installed, begin, end)


async def one_has_it_and_ends(site: Site, units: set[str]) -> None:
    """One of the units runs with the storage, and none of the others has a pod."""
    lock = await eventually(
        lambda: held(site),
        lambda lock: lock is not None and lock.unit in units,
        seconds=COLLECTION_SECONDS,
    )
    assert lock is not None
    await site.unit_with(lock.unit, "UnitReady")
    assert await held(site) == lock
    for other in units - {lock.unit}:
        assert await pods_of(site, other) == []
    await site.admin.delete(site.path("gpuunits", lock.unit))
    await site.gone("gpuunits", lock.unit)


async def held(site: Site) -> StorageLock | None:
    return lock_in(await storage(site, NAME))
