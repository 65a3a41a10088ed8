"""Nodes that are unavailable for a while; other tests use the same nodes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hack.cluster.admin_client import AdminClient
from tests.support.cluster.isolated_installation import ready_condition
from tests.support.wait.eventually import eventually


@asynccontextmanager
async def make_node_not_ready(admin: AdminClient, name: str) -> AsyncIterator[None]:
    """Make a node not ready for the length of the block."""
    path = f"/api/v1/nodes/{name}"
    try:
        await admin.patch(path, {"metadata": {"labels": {"sim.local/node": "not-ready"}}})
        yield
    finally:
        await admin.patch(path, {"metadata": {"labels": {"sim.local/node": None}}})
        await eventually(lambda: admin.get(path), is_schedulable)


@asynccontextmanager
async def cordon_node(admin: AdminClient, name: str) -> AsyncIterator[None]:
    """Cordon a node for the length of the block: it keeps its pods and accepts no more."""
    path = f"/api/v1/nodes/{name}"
    try:
        await admin.patch(path, {"spec": {"unschedulable": True}})
        yield
    finally:
        await admin.patch(path, {"spec": {"unschedulable": None}})
        await eventually(lambda: admin.get(path), is_schedulable)


def is_schedulable(node: Mapping[str, Any]) -> bool:
    return ready_condition(node)["status"] == "True" and "taints" not in node["spec"]
