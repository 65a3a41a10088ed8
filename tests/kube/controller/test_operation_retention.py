"""Retention of operations on a real server: no operation is kept longer than it is needed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from controller.kinds import GPU_UNITS, OPERATIONS
from controller.namespaces import Namespaces
from controller.object_reader import ObjectReader
from controller.operation.reconciler import OperationReconciler
from controller.runtime import Client, EventRecorder, ObjectKey, SystemClock, Writer
from hack.cluster.control_plane import ControlPlane
from shared.time import format_timestamp
from shared.v1alpha1.names import label_hash
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.wellknown import (
    CLAIM_OPERATION_ANNOTATION,
    LISTED_ANNOTATION,
    OPERATION_ID_ANNOTATION,
    OPERATION_LABEL,
)
from tests.support.builders.config_maps import connect_client
from tests.support.cluster.caches import UnstartedCaches
from tests.support.cluster.control_loops import new_controller_builder, run_control_loop
from tests.support.wait.eventually import eventually

DAY = 86400.0


@pytest.fixture
async def client(installed_control_plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect_client(installed_control_plane.layout.admin_kubeconfig) as made:
        yield made


@asynccontextmanager
async def sweeping(client: Client, namespace: str, retention: float) -> AsyncIterator[None]:
    """Run a sweeper of the namespace for the length of the block."""
    clock = SystemClock()
    everywhere = Namespaces(stock=namespace, instance=namespace, system=namespace)
    caches = UnstartedCaches(client, everywhere, clock)
    writer, lookup = Writer(client, caches.informers), ObjectReader(caches, client, everywhere)
    reconciler = OperationReconciler(caches, lookup, writer, clock, retention)
    recorder = EventRecorder(client, clock, Random(7), "sweeper", "test")
    controller = new_controller_builder(caches, recorder, clock).for_(OPERATIONS)
    controller.reconcile(reconciler)
    async with run_control_loop(controller.loop, caches.operations.informers):
        yield


async def record(client: Client, namespace: str, name: str, **status: Any) -> ObjectKey:
    """Create an operation with a request, and with `status` if given.

    Type and stock go to its spec.
    """
    spec = {key: status.pop(key) for key in ("type", "stock") if key in status}
    body: dict[str, Any] = {
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "operationID": name,
            "type": "CreateGPUUnit",
            "requestHash": "v1:h",
            "request": {"name": "u"},
            **spec,
        },
    }
    await client.create(OPERATIONS, body)
    key = ObjectKey(namespace, name)
    if status:
        await client.patch_status(OPERATIONS, key, status)
    return key


def now() -> str:
    return format_timestamp(SystemClock().now())


async def names(client: Client, namespace: str) -> list[str]:
    return sorted(found.metadata.name for found in (await client.list(OPERATIONS, namespace)).items)


async def test_only_final_operations_are_deleted_after_their_retention(
    client: Client, namespace: str
) -> None:
    await record(client, namespace, "done", phase="Succeeded", finishedAt=now())
    await record(client, namespace, "failed", phase="Failed", finishedAt=now())
    await record(client, namespace, "running", phase="Running", updatedAt=now())
    await record(client, namespace, "pending")
    async with sweeping(client, namespace, retention=1.0):
        await eventually(
            lambda: names(client, namespace), lambda found: found == ["pending", "running"]
        )


async def test_an_operation_stays_while_an_uncached_unit_depends_on_it(
    client: Client, namespace: str
) -> None:
    """Test with caches that follow nothing: they contain no unit."""
    spec = {"specName": "g1.1", "memory": "1Gi"}
    label = {OPERATION_LABEL: label_hash("seeded")}
    seeded = {"namespace": namespace, "name": "s", "labels": label}
    notes = {"annotations": {OPERATION_ID_ANNOTATION: "seeded"}}
    await client.create(GPU_UNITS, {"metadata": {**seeded, **notes}, "spec": spec})
    await record(client, namespace, "seeded", type="SeedStockUnits", **ended())
    claimed = {
        "namespace": namespace,
        "name": "c",
        "annotations": {CLAIM_OPERATION_ANNOTATION: "claiming"},
    }
    made = await client.create(GPU_UNITS, {"metadata": claimed, "spec": spec})
    stock = {"name": "c", "uid": made.metadata.uid}
    await record(client, namespace, "claiming", stock=stock, **ended())
    await record(client, namespace, "done", **ended())
    async with sweeping(client, namespace, retention=0.1):
        kept = ["claiming", "seeded"]
        await eventually(lambda: names(client, namespace), lambda found: found == kept)
        for unit, note in (
            ("s", {LISTED_ANNOTATION: "true"}),
            ("c", {CLAIM_OPERATION_ANNOTATION: None}),
        ):
            body = {"metadata": {"annotations": note}}
            await client.patch(GPU_UNITS, ObjectKey(namespace, unit), body)
        await eventually(lambda: names(client, namespace), lambda found: not found)


def ended() -> dict[str, str]:
    return {"phase": "Succeeded", "finishedAt": now()}


async def test_a_succeeded_operation_drops_its_request_and_a_failed_operation_keeps_it(
    client: Client, namespace: str
) -> None:
    done = await record(client, namespace, "done", phase="Succeeded", finishedAt=now())
    failed = await record(client, namespace, "failed", phase="Failed", finishedAt=now())
    async with sweeping(client, namespace, DAY):
        await eventually(lambda: client.get(OPERATIONS, done), has_no_request)
    assert (await client.get(OPERATIONS, failed)).spec.request == {"name": "u"}


async def test_a_restarted_operation_is_not_deleted(client: Client, namespace: str) -> None:
    long_ago = format_timestamp(SystemClock().now() - timedelta(days=2))
    key = await record(client, namespace, "failed", phase="Failed", finishedAt=long_ago)
    seen = await client.get(OPERATIONS, key)
    await client.patch_status(OPERATIONS, key, {"phase": "Running", "attempt": 1})
    await sweep_as_of(client, namespace, seen)
    assert await names(client, namespace) == ["failed"]


async def sweep_as_of(client: Client, namespace: str, seen: Operation) -> None:
    """Run one pass of a sweeper that has only an old state of the operation."""
    clock = SystemClock()
    everywhere = Namespaces(stock=namespace, instance=namespace, system=namespace)
    caches = UnstartedCaches(client, everywhere, clock)
    caches.operations.informers[0].observe_write(seen)
    lookup = ObjectReader(caches, client, everywhere)
    reconciler = OperationReconciler(caches, lookup, Writer(client, ()), clock, DAY)
    await reconciler.reconcile(ObjectKey(namespace, seen.metadata.name))


def has_no_request(found: Operation) -> bool:
    return found.spec.request is None
