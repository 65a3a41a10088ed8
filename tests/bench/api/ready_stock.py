"""Units with a written Ready status, so that measurements need no controller."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from shared.v1alpha1.gpuunit import KIND, PLURAL, GPUUnit
from shared.v1alpha1.group import GROUP, VERSION
from tests.bench.connection import Connection
from tests.bench.controller.unit_load import CREATOR_COUNT, STOCK_NAMESPACE

SPEC_NAME = "g1.1"
TIMESTAMP = "2026-11-16T04:40:00Z"


def units_path(namespace: str) -> str:
    """Return the path of all units in a namespace."""
    return f"/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{PLURAL}"


async def create_ready_stock(admin: Connection, prefix: str, count: int) -> list[GPUUnit]:
    """Create stock units of one GPU that can be claimed at once."""
    return await create_ready_units(
        admin, STOCK_NAMESPACE, [stock_unit_manifest(f"{prefix}-{n:04d}") for n in range(count)]
    )


async def remove_stock(admin: Connection) -> None:
    """Delete claimed stock, as a controller would."""
    await admin.send("DELETE", units_path(STOCK_NAMESPACE), {})


async def create_ready_units(
    admin: Connection, namespace: str, bodies: Sequence[Mapping[str, Any]]
) -> list[GPUUnit]:
    """Create units and write their status, a few at a time."""
    created: list[GPUUnit] = []
    pending = iter(bodies)
    async with asyncio.TaskGroup() as group:
        for _ in range(CREATOR_COUNT):
            group.create_task(create_each(admin, units_path(namespace), pending, created))
    return created


async def create_each(
    admin: Connection, path: str, bodies: Iterator[Mapping[str, Any]], created: list[GPUUnit]
) -> None:
    for body in bodies:
        await admin.create(path, body)
        stored = await admin.patch(
            f"{path}/{body['metadata']['name']}/status", {"status": READY_STATUS}
        )
        created.append(msgspec.json.decode(stored, type=GPUUnit))


def stock_unit_manifest(name: str) -> dict[str, Any]:
    return unit_manifest({"name": name}, {})


def unit_manifest(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a unit of one GPU with further fields of its spec."""
    machine = {"specName": SPEC_NAME, "cpu": "1", "memory": "8Gi", "gpu": 1}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": metadata,
        "spec": {**machine, **spec},
    }


def status_condition(condition_type: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "type": condition_type,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": TIMESTAMP,
        "observedGeneration": 1,
    }


READY_STATUS = {
    "phase": "Ready",
    "readyReplicas": 1,
    "observedGeneration": 1,
    "lastSyncTime": TIMESTAMP,
    "nodeName": "node-1",
    "conditions": [
        status_condition("Ready", "PodReady", "the pod is available"),
        status_condition("Scheduled", "PodBound", "the pod is on node-1"),
    ],
}
