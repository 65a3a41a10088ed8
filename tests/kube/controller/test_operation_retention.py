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
    async with connect_client(installed_control_plane.layout.admin_kubeconfig) as client:
        yield client


@asynccontextmanager
async def run_reconciler(client: Client, namespace: str, retention: float) -> AsyncIterator[None]:
    """Run a sweeper of the namespace for the length of the block."""
    clock = SystemClock()
    namespaces = Namespaces(stock=namespace, instance=namespace, system=namespace)
    caches = UnstartedCaches(client, namespaces, clock)
    writer, lookup = Writer(client, caches.informers), ObjectReader(caches, client, namespaces)
    reconciler = OperationReconciler(caches, lookup, writer, clock, retention)
    recorder = EventRecorder(client, clock, Random(7), "sweeper", "test")
    controller = new_controller_builder(caches, recorder, clock).for_(OPERATIONS)
    controller.reconcile(reconciler)
    async with run_control_loop(controller.loop, caches.operations.informers):
        yield


async def create_operation(client: Client, namespace: str, name: str, **status: Any) -> ObjectKey:
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
    return sorted(
        operation.metadata.name for operation in (await client.list(OPERATIONS, namespace)).items
    )


async def test_only_final_operations_are_deleted_after_their_retention(
    client: Client, namespace: str
) -> None:
    await create_operation(client, namespace, "done", phase="Succeeded", finishedAt=now())
    await create_operation(client, namespace, "failed", phase="Failed", finishedAt=now())
    await create_operation(client, namespace, "running", phase="Running", updatedAt=now())
    await create_operation(client, namespace, "pending")
    async with run_reconciler(client, namespace, retention=1.0):
        await eventually(
            lambda: names(client, namespace), lambda remaining: remaining == ["pending", "running"]
        )


async def test_an_operation_stays_while_an_uncached_unit_depends_on_it(
    client: Client, namespace: str
) -> None:
    """Test with caches that follow nothing: they contain no unit."""
    spec = {"specName": "g1.1", "memory": "1Gi"}
    label = {OPERATION_LABEL: label_hash("seeded")}
    seeded = {"namespace": namespace, "name": "s", "labels": label}
    annotations = {"annotations": {OPERATION_ID_ANNOTATION: "seeded"}}
    await client.create(GPU_UNITS, {"metadata": {**seeded, **annotations}, "spec": spec})
    await create_operation(client, namespace, "seeded", type="SeedStockUnits", **succeeded_status())
    claimed = {
        "namespace": namespace,
        "name": "c",
        "annotations": {CLAIM_OPERATION_ANNOTATION: "claiming"},
    }
    claimed_unit = await client.create(GPU_UNITS, {"metadata": claimed, "spec": spec})
    stock = {"name": "c", "uid": claimed_unit.metadata.uid}
    await create_operation(client, namespace, "claiming", stock=stock, **succeeded_status())
    await create_operation(client, namespace, "done", **succeeded_status())
    async with run_reconciler(client, namespace, retention=0.1):
        expected = ["claiming", "seeded"]
        await eventually(lambda: names(client, namespace), lambda remaining: remaining == expected)
        for unit, note in (
            ("s", {LISTED_ANNOTATION: "true"}),
            ("c", {CLAIM_OPERATION_ANNOTATION: None}),
        ):
            body = {"metadata": {"annotations": note}}
            await client.patch(GPU_UNITS, ObjectKey(namespace, unit), body)
        await eventually(lambda: names(client, namespace), lambda names: not names)


def succeeded_status() -> dict[str, str]:
    return {"phase": "Succeeded", "finishedAt": now()}


async def test_a_succeeded_operation_drops_its_request_and_a_failed_operation_keeps_it(
    client: Client, namespace: str
) -> None:
    done = await create_operation(client, namespace, "done", phase="Succeeded", finishedAt=now())
    failed = await create_operation(client, namespace, "failed", phase="Failed", finishedAt=now())
    async with run_reconciler(client, namespace, DAY):
        await eventually(lambda: client.get(OPERATIONS, done), has_no_request)
    assert (await client.get(OPERATIONS, failed)).spec.request == {"name": "u"}


async def test_a_restarted_operation_is_not_deleted(client: Client, namespace: str) -> None:
    long_ago = format_timestamp(SystemClock().now() - timedelta(days=2))
    key = await create_operation(client, namespace, "failed", phase="Failed", finishedAt=long_ago)
    old = await client.get(OPERATIONS, key)
    await client.patch_status(OPERATIONS, key, {"phase": "Running", "attempt": 1})
    await sweep_as_of(client, namespace, old)
    assert await names(client, namespace) == ["failed"]


async def sweep_as_of(client: Client, namespace: str, old: Operation) -> None:
    """Run one pass of a sweeper that has only an old state of the operation."""
    clock = SystemClock()
    namespaces = Namespaces(stock=namespace, instance=namespace, system=namespace)
    caches = UnstartedCaches(client, namespaces, clock)
    caches.operations.informers[0].observe_write(old)
    lookup = ObjectReader(caches, client, namespaces)
    reconciler = OperationReconciler(caches, lookup, Writer(client, ()), clock, DAY)
    await reconciler.reconcile(ObjectKey(namespace, old.metadata.name))


def has_no_request(operation: Operation) -> bool:
    return operation.spec.request is None
