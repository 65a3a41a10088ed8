"""The controller dies at any write for a storage: the next one goes on where it was.

A success is never repeated and never lost, a recovery is made once, and no lock stays behind.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from shared.storage_lock import StorageLock
from tests.support.eventually import eventually
from tests.support.gpu_storages import (
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
from tests.support.mortal import doomed
from tests.support.our_controller import controlled
from tests.support.simulated_units import a_users_unit, pods_of
from tests.support.site import Site

ENOUGH_WRITES = 24


async def first_of(*endings: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of them has come."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each) for each in endings]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


async def survives_every_write(
    site: Site, begin: Callable[[str], Awaitable[None]], end: Callable[[str], Awaitable[None]]
) -> list[str]:
    """One run for each write, before and after it took effect; the calls that were the last."""
    calls: list[str] = []
    for number in range(2 * ENOUGH_WRITES):
        name = f"s{number}"
        dies_at, after_sending = number // 2 + 1, number % 2 == 1
        await begin(name)
        async with doomed(site, dies_at=dies_at, after_sending=after_sending) as mortal:
            await first_of(eventual(end, name), mortal.died.wait())
        async with controlled(site):
            await end(name)
        if not mortal.last_call:
            return calls
        calls.append(mortal.last_call)
    raise AssertionError(f"not done within {ENOUGH_WRITES} writes: {calls}")


async def eventual(end: Callable[[str], Awaitable[None]], name: str) -> None:
    await end(name)


async def at_rest(site: Site, name: str) -> None:
    """Filled, free, and nothing left of the filling."""
    await storage_with(site, name, "StorageReady")
    await site.gone("jobs", f"prepare-{name}")
    await site.gone("networkpolicies", f"prepare-{name}")
    await eventually(
        lambda: storage(site, name),
        lambda found: lock_in(found) is None and not found["metadata"].get("finalizers"),
    )


async def test_a_filling_survives_a_crash_at_every_write(site: Site) -> None:
    async def begin(name: str) -> None:
        await create(site, simulated(name))

    async def end(name: str) -> None:
        await at_rest(site, name)
        assert await fillings(site, name) == 1

    calls = await survives_every_write(site, begin, end)

    assert any(call.startswith("POST") and "/jobs" in call for call in calls), calls
    assert any(call.startswith("DELETE") and "/jobs/" in call for call in calls), calls
    assert any("/gpustorages/" in call and "/status" in call for call in calls), calls


async def test_a_recovery_survives_a_crash_at_every_write(site: Site) -> None:
    async def begin(name: str) -> None:
        async with controlled(site):
            await create(site, simulated(name, run_for="1h"))
            await filling(site, name, "Running")
            await delete_job(site, name)
            await storage_with(site, name, "PrepareFailed")
            await site.gone("jobs", f"prepare-{name}")
            await eventually(lambda: storage(site, name), lambda found: lock_in(found) is None)
        labels = {"sim.local/run-for": "1s"}
        await site.admin.patch(site.path("gpustorages", name), {"metadata": {"labels": labels}})
        await recover(site, name, "r1")

    async def end(name: str) -> None:
        await at_rest(site, name)
        assert await fillings(site, name) == 2

    await survives_every_write(site, begin, end)


async def test_a_mount_survives_a_crash_at_every_write(site: Site) -> None:
    """From the unit that takes the storage to the next that has it after the first is gone."""

    async def begin(name: str) -> None:
        await create(site, a_storage(name, storageClassName="sim-wait"))
        mounts = [{"name": name, "mountPath": "/data"}]
        for unit in ("a", "b"):
            body = a_users_unit(f"{name}-{unit}", gpu=0, memory="1Mi", storageMounts=mounts)
            await site.create("gpuunits", body)

    async def units(name: str) -> list[str]:
        found = [unit["metadata"]["name"] for unit in await site.list("gpuunits")]
        return [unit for unit in found if unit.startswith(f"{name}-")]

    async def end(name: str) -> None:
        while left := await units(name):
            lock = await eventually(
                lambda: lock_of(site, name), lambda lock: lock is not None and lock.unit in left
            )
            assert lock is not None
            await site.unit_with(lock.unit, "UnitReady")
            assert await lock_of(site, name) == lock
            for other in set(left) - {lock.unit}:
                assert await pods_of(site, other) == []
            await site.admin.delete(site.path("gpuunits", lock.unit))
            await site.gone("gpuunits", lock.unit)
        await eventually(lambda: lock_of(site, name), lambda lock: lock is None)

    await survives_every_write(site, begin, end)


async def lock_of(site: Site, name: str) -> StorageLock | None:
    return lock_in(await storage(site, name))
