"""The load of units: many creates at the highest rate."""

import asyncio
import time
from collections.abc import Iterable

from shared.v1alpha1.gpuunit import KIND, PLURAL
from shared.v1alpha1.group import GROUP, VERSION
from tests.bench.connection import Connection

STOCK_NAMESPACE = "runtime-stock"
UNITS_PATH = f"/apis/{GROUP}/{VERSION}/namespaces/{STOCK_NAMESPACE}/{PLURAL}"
PODS_PATH = f"/api/v1/namespaces/{STOCK_NAMESPACE}/pods"
CREATOR_COUNT = 32


async def create_units(connection: Connection, count: int) -> dict[str, float]:
    """Create units; return the send time of each request."""
    sent: dict[str, float] = {}
    names = iter([f"bench-{number:04d}" for number in range(count)])
    async with asyncio.TaskGroup() as group:
        for _ in range(CREATOR_COUNT):
            group.create_task(create_each(connection, names, sent))
    return sent


async def create_each(
    connection: Connection, names: Iterable[str], sent_at: dict[str, float]
) -> None:
    for name in names:
        sent_at[name] = time.perf_counter()
        await connection.create(UNITS_PATH, unit_manifest(name))


def unit_manifest(name: str) -> dict[str, object]:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {"specName": "g1.1", "cpu": "1", "memory": "8Gi", "gpu": 1},
    }
