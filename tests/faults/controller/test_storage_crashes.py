"""Crashes of the controller at any write for a storage: the next one continues where it stopped.

A success is never repeated and never lost, a recovery is done once, and no lock remains.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.storage_lock import StorageLock
from tests.support.builders.gpu_storages import (
    count_prepare_pods,
    create_storage,
    delete_prepare_job,
    get_storage,
    request_recovery,
    simulated_prepare_storage,
    storage_lock,
    storage_manifest,
    wait_prepare_phase,
    wait_storage_reason,
)
from tests.support.builders.simulated_units import unit_pods, user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    GARBAGE_COLLECTION_TIMEOUT_SECONDS,
    IsolatedInstallation,
    new_isolated_installation,
)
from tests.support.faults.crashing_rest_client import run_crashing_controller
from tests.support.wait.eventually import eventually
from tests.support.wait.first_of import wait_for_first

MAX_WRITES = 40
MAX_CONCURRENT_SITES = 6  # sites in parallel: most of the time is spent in waiting
NAME = "data"

pytestmark = pytest.mark.timeout(900)  # a minute, but longer on a slow machine

Part = Callable[[IsolatedInstallation], Coroutine[Any, Any, None]]


async def survive_every_write(plane: ControlPlane, begin: Part, end: Part) -> list[str]:
    """Test one site for each write, crashing before and after it took effect; return the last
    calls.
    """
    calls: list[str] = []
    for first in range(0, 2 * MAX_WRITES, MAX_CONCURRENT_SITES):
        numbers = range(first, first + MAX_CONCURRENT_SITES)
        async with asyncio.TaskGroup() as group:
            runs = [
                group.create_task(survive_crash(plane, begin, end, number)) for number in numbers
            ]
        calls += [run.result() for run in runs if run.result()]
        if not all(run.result() for run in runs):
            return calls
    raise AssertionError(f"not done within {MAX_WRITES} writes: {calls}")


async def survive_crash(plane: ControlPlane, begin: Part, end: Part, number: int) -> str:
    """Return the call at which the controller died; empty if there were fewer calls."""
    crash_at_write, after_sending = number // 2 + 1, number % 2 == 1
    async with new_isolated_installation(plane) as site:
        await begin(site)
        async with run_crashing_controller(
            site, crash_at_write=crash_at_write, after_sending=after_sending
        ) as client:
            await wait_for_first(end(site), client.crashed.wait())
        async with run_controller(site):
            await end(site)
    return client.fatal_call


async def wait_prepared_and_unlocked(site: IsolatedInstallation) -> None:
    """Wait until no Job and no lock of the prepare remains."""
    await wait_storage_reason(site, NAME, "StorageReady")
    await site.wait_gone("jobs", f"prepare-{NAME}")
    await site.wait_gone("networkpolicies", f"prepare-{NAME}")
    await eventually(
        lambda: get_storage(site, NAME),
        lambda storage: storage_lock(storage) is None and not storage["metadata"].get("finalizers"),
    )


async def test_a_prepare_survives_a_crash_at_every_write(
    installed_control_plane: ControlPlane,
) -> None:
    async def begin(site: IsolatedInstallation) -> None:
        await create_storage(site, simulated_prepare_storage(NAME))

    async def end(site: IsolatedInstallation) -> None:
        await wait_prepared_and_unlocked(site)
        assert await eventually(lambda: count_prepare_pods(site, NAME)) == 1

    calls = await survive_every_write(installed_control_plane, begin, end)

    assert any(call.startswith("POST") and "/jobs" in call for call in calls), calls
    assert any(call.startswith("DELETE") and "/jobs/" in call for call in calls), calls
    assert any("/gpustorages/" in call and "/status" in call for call in calls), calls


async def test_a_recovery_survives_a_crash_at_every_write(
    installed_control_plane: ControlPlane,
) -> None:
    async def begin(site: IsolatedInstallation) -> None:
        async with run_controller(site):
            await create_storage(site, simulated_prepare_storage(NAME, run_for="1h"))
            await wait_prepare_phase(site, NAME, "Running")
            await delete_prepare_job(site, NAME)
            await wait_storage_reason(site, NAME, "PrepareFailed")
            await eventually(
                lambda: current_lock(site),
                lambda lock: lock is None,
                timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS,
            )
        labels = {"sim.local/run-for": "1s"}
        await site.admin.patch(site.path("gpustorages", NAME), {"metadata": {"labels": labels}})
        await request_recovery(site, NAME, "r1")

    async def end(site: IsolatedInstallation) -> None:
        await wait_prepared_and_unlocked(site)
        assert (
            await eventually(lambda: count_prepare_pods(site, NAME), lambda count: count > 1) == 2
        )

    await survive_every_write(installed_control_plane, begin, end)


async def test_a_mount_survives_a_crash_at_every_write(
    installed_control_plane: ControlPlane,
) -> None:
    """Test from the first unit's mount to the mount of the next unit, after the first is gone."""

    async def begin(site: IsolatedInstallation) -> None:
        await create_storage(site, storage_manifest(NAME, storageClassName="sim-wait"))
        mounts = [{"name": NAME, "mountPath": "/data"}]
        for name in ("one", "two"):
            body = user_unit_manifest(name, gpu=0, memory="1Mi", storageMounts=mounts)
            await site.create("gpuunits", body)

    async def end(site: IsolatedInstallation) -> None:
        while units := await site.list("gpuunits"):
            await wait_one_unit_and_delete_it(site, {unit["metadata"]["name"] for unit in units})
        await eventually(
            lambda: current_lock(site),
            lambda lock: lock is None,
            timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS,
        )

    await survive_every_write(installed_control_plane, begin, end)


async def wait_one_unit_and_delete_it(site: IsolatedInstallation, units: set[str]) -> None:
    """Wait until one unit runs with the storage and no other has a pod; then delete that unit."""
    lock = await eventually(
        lambda: current_lock(site),
        lambda lock: lock is not None and lock.unit in units,
        timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS,
    )
    assert lock is not None
    await site.wait_unit_reason(lock.unit, "UnitReady")
    assert await current_lock(site) == lock
    for other in units - {lock.unit}:
        assert await unit_pods(site, other) == []
    await site.admin.delete(site.path("gpuunits", lock.unit))
    await site.wait_gone("gpuunits", lock.unit)


async def current_lock(site: IsolatedInstallation) -> StorageLock | None:
    return storage_lock(await get_storage(site, NAME))
