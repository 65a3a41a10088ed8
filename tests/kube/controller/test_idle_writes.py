"""Idle installation: no writes with any number of objects, counted by the API server itself."""

import asyncio
import re
from collections import Counter
from functools import partial

import pytest

from hack.cluster.admin_client import AdminClient
from tests.support.builders.gpu_storages import create_storage, storage_manifest
from tests.support.checks.deployment_status import is_rollout_complete
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.wait.eventually import eventually

UNITS = 100
STORAGES = 20
POOLS = 5
POOL_SIZE = 20
REST_SECONDS = 60.0
SETTLING_SECONDS = 300.0
# An Event that could not be written on a busy machine is retried after ten seconds and a little
# more.
QUIET_SECONDS = 15.0
# All resources that the controller could have a reason to write; its lease is the only necessary
# write.
WATCHED = frozenset(
    {
        *("gpuunits", "stockpools", "operations", "gpustorages", "events"),
        *("deployments", "replicasets", "pods", "services", "networkpolicies"),
        *("jobs", "persistentvolumeclaims"),
    }
)
WRITES = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"})
# The scheduler writes the end of its Event series minutes later, also for deleted pods.
COUNTED_ELSEWHERE = "PATCH events/"
SAMPLE = re.compile(r"^apiserver_request_total\{(?P<labels>.*)\} (?P<value>\S+)$", re.MULTILINE)
LABEL = re.compile(r'(\w+)="([^"]*)"')


async def writes(admin: AdminClient) -> Counter[str]:
    """Return the number of writes to the watched resources so far, by verb and resource.

    Counted are the writes that the server has answered.
    """
    counts = Counter[str]()
    for sample in SAMPLE.finditer(await admin.get("/metrics")):
        labels = dict(LABEL.findall(sample["labels"]))
        write = f"{labels['verb']} {labels['resource']}/{labels['subresource']}"
        if write == COUNTED_ELSEWHERE:
            continue
        if labels["resource"] in WATCHED and labels["verb"] in WRITES:
            counts[write] += int(float(sample["value"]))
    return counts


async def ready(site: IsolatedInstallation, namespace: str) -> int:
    units = await site.list("gpuunits", namespace=namespace)
    return sum(unit.get("status", {}).get("phase") == "Ready" for unit in units)


async def ready_accessors(site: IsolatedInstallation) -> int:
    storages = await site.list("gpustorages")
    return sum(
        storage.get("status", {}).get("accessor", {}).get("phase") == "Ready"
        for storage in storages
    )


async def rolled_out(site: IsolatedInstallation, namespace: str) -> int:
    return sum(map(is_rollout_complete, await site.list("deployments", namespace=namespace)))


async def events(site: IsolatedInstallation) -> dict[str, str]:
    """Return the resourceVersion of every Event about our objects."""
    metadata = [
        event["metadata"]
        for namespace in (*site.namespaces.units, site.namespaces.system)
        for event in await site.list("events", namespace=namespace)
    ]
    return {event["uid"]: event["resourceVersion"] for event in metadata}


async def ending_namespaces(admin: AdminClient) -> list[str]:
    """Return the namespaces of other tests that the cluster still has to delete."""
    metadata = [item["metadata"] for item in (await admin.get("/api/v1/namespaces"))["items"]]
    return [item["name"] for item in metadata if "deletionTimestamp" in item]


async def quiet(admin: AdminClient) -> bool:
    """Return whether there was no write for a while."""
    before = await writes(admin)
    await asyncio.sleep(QUIET_SECONDS)
    return await writes(admin) == before


@pytest.mark.timeout(900)
async def test_idle_units_pools_and_storages_cause_no_write_in_a_minute(
    installation: IsolatedInstallation,
) -> None:
    small = {"memory": "16Mi", "gpu": 0}
    ports = {"template": {"ports": [{"name": "http", "port": 80}]}}
    async with run_controller(installation):
        for number in range(UNITS):
            body = unit_manifest(f"u{number}", image="a:1", **small, **ports)
            await installation.create("gpuunits", body)
        for number in range(STORAGES):
            await create_storage(
                installation, storage_manifest(f"s{number}", accessor={"enabled": True})
            )
        for number in range(POOLS):
            spec = {"specName": f"g{number}", "replicas": POOL_SIZE, **small}
            body = {**unit_manifest(f"p{number}"), "kind": "StockPool", "spec": spec}
            await installation.create("stockpools", body, namespace=installation.namespaces.stock)
        stock, instance = installation.namespaces.units
        for count, expected in (
            (partial(ready, installation, instance), UNITS),
            (partial(ready, installation, stock), POOLS * POOL_SIZE),
            (partial(ready_accessors, installation), STORAGES),
            (partial(rolled_out, installation, instance), UNITS + STORAGES),
            (partial(rolled_out, installation, stock), POOLS * POOL_SIZE),
        ):
            await eventually(count, expected.__eq__, timeout_seconds=SETTLING_SECONDS)
        await eventually(
            lambda: ending_namespaces(installation.admin),
            lambda names: not names,
            timeout_seconds=180,
        )
        await eventually(lambda: quiet(installation.admin), timeout_seconds=SETTLING_SECONDS)
        before, versions = await writes(installation.admin), await events(installation)

        await asyncio.sleep(REST_SECONDS)  # the measured period, not a wait for a condition

        assert await writes(installation.admin) - before == Counter()
        assert await events(installation) == versions
        assert before.total() > 4 * UNITS, "the count would have seen them"
