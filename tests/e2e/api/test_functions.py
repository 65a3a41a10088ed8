"""Functions over HTTP: created once, changed, deleted with or without their queued work."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from apiserver.http.paths import FUNCTIONS, UNITS, function_path
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.wellknown import ON_DELETE_ANNOTATION, QUEUE_FINALIZER
from tests.support.cluster.isolated_installation import unit_manifest
from tests.support.cluster.running_product import new_name
from tests.support.queue.invocation_api import InvocationApi, new_invocation_api

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def system(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[InvocationApi]:
    """Run two API replicas and a queue, without an activator and workers."""
    async with new_invocation_api(
        installed_control_plane, tmp_path_factory.mktemp("functions")
    ) as created:
        yield created


def function_request(**changes: Any) -> dict[str, Any]:
    named = {"operationID": new_name("make"), "name": new_name("fn")}
    return {**named, "specName": "g1.1", "image": "example/echo:1", **changes}


async def add_finalizer(system: InvocationApi, name: str) -> None:
    """Add the activator's finalizer to a function. The activator then has to settle its queue."""
    patch = {"metadata": {"finalizers": [QUEUE_FINALIZER]}}
    await system.installation.admin.patch(system.installation.path("functions", name), patch)


async def test_a_function_is_created_once_with_its_defaults(system: InvocationApi) -> None:
    request = function_request(maxWorkers=4, framework={"invokePath": "/run"})
    created = await system.api.post(FUNCTIONS, request)
    assert (created.status, created.headers["Location"]) == (201, function_path(request["name"]))
    replay = await system.replica.post(FUNCTIONS, request)
    assert (replay.status, replay.data["uid"]) == (200, created.data["uid"])
    defaults = {"minWorkers": 0, "maxWorkers": 4, "concurrency": 1, "ttlSeconds": 3600}
    assert (
        created.data.items() >= {**defaults, "maxQueued": 10000, "image": request["image"]}.items()
    )
    assert created.data["framework"] == {"invokePath": "/run"}
    conflicting = await system.api.post(FUNCTIONS, {**request, "image": "other"})
    assert conflicting.status_and_code == (409, "operation_conflict")
    taken = await system.api.post(FUNCTIONS, {**request, "operationID": new_name("other")})
    assert taken.status_and_code == (409, "already_exists")
    listed = (await system.replica.get(FUNCTIONS)).data
    assert request["name"] in [function["name"] for function in listed]


async def test_a_function_change_keeps_omitted_fields(system: InvocationApi) -> None:
    name = await system.create_function(
        maxWorkers=4, concurrency=8, framework={"invokePath": "/run"}
    )
    shown = await system.api.get(function_path(name))
    if_match = {"If-Match": shown.headers["ETag"]}
    change = {"maxWorkers": 6, "concurrency": None, "framework": None}
    changed = await system.replica.put(function_path(name), change, if_match)
    assert (changed.status, changed.data["maxWorkers"], changed.data["concurrency"]) == (200, 6, 1)
    assert "framework" not in changed.data
    refused_late = await system.api.put(function_path(name), {"maxWorkers": 7}, if_match)
    assert refused_late.status_and_code == (412, "precondition_failed")
    refused = await system.api.put(function_path(name), {"specName": "g2", "name": "other"})
    assert sorted(refused.field_errors) == ["name", "specName"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "Upper"}, "name"),
        ({"name": "x" * 49}, "name"),
        ({"maxWorkers": 1001}, "maxWorkers"),
        ({"maxWorkers": 0}, "maxWorkers"),
        ({"concurrency": 1001}, "concurrency"),
        ({"timeoutSeconds": 3571}, "timeoutSeconds"),
        ({"ttlSeconds": 72 * 3600}, "ttlSeconds"),
        ({"minWorkers": 2}, "minWorkers"),
        ({"maxWorkers": 2, "storageMounts": [{"name": "a", "mountPath": "/a"}]}, "storageMounts"),
        ({"framework": {"invokePath": "run"}}, "framework.invokePath"),
        ({"framework": {"socketPath": "/proc/a.sock"}}, "framework.socketPath"),
        ({"workers": 1}, "workers"),
        ({"image": ""}, "image"),
    ],
)
async def test_an_invalid_function_is_refused_by_field(
    system: InvocationApi, changes: dict[str, Any], field: str
) -> None:
    response = await system.api.post(FUNCTIONS, function_request(**changes))
    assert response.status == 400
    assert list(response.field_errors) == [field]


async def test_a_function_with_queued_invocations_is_deleted_only_with_drain_or_purge(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    await add_finalizer(system, name)
    await system.invoke(name)
    refused = await system.api.delete(function_path(name))
    assert refused.status_and_code == (409, "conflict")
    both = await system.api.delete(f"{function_path(name)}?drain=true&purge=true")
    assert both.status == 400
    drained = await system.api.delete(f"{function_path(name)}?drain=true")
    assert drained.status == 202
    assert drained.data["deletingSince"]
    assert await on_delete_policy(system, name) == "drain"
    assert (await system.replica.delete(f"{function_path(name)}?purge=true")).status == 202
    assert await on_delete_policy(system, name) == "purge"
    refused_late = await system.invoke(name, system.replica)
    assert refused_late.status_and_code == (409, "conflict")


async def on_delete_policy(system: InvocationApi, name: str) -> str:
    function = await system.installation.admin.get(system.installation.path("functions", name))
    policy: str = function["metadata"]["annotations"][ON_DELETE_ANNOTATION]
    return policy


async def test_an_idle_function_is_deleted_at_once(system: InvocationApi) -> None:
    name = await system.create_function()
    assert (await system.api.delete(function_path(name))).status == 204
    assert (await system.api.get(function_path(name))).status == 404
    assert (await system.api.delete(function_path(name))).status == 404


async def test_a_worker_is_owned_by_its_function(system: InvocationApi) -> None:
    name = await system.create_function()
    uid = (await system.api.get(function_path(name))).data["uid"]
    await create_stock(system)
    request = worker_request(name, f"fn/{uid}/1")
    assert (await system.api.post(UNITS, request)).status == 201
    owners = (await system.installation.get_unit(request["name"]))["metadata"]["ownerReferences"]
    assert [(owner["kind"], owner["name"], owner["uid"]) for owner in owners] == [
        ("Function", name, uid)
    ]
    assert (await system.replica.post(UNITS, request)).status == 200


async def test_a_worker_of_a_missing_or_recreated_function_is_refused(
    system: InvocationApi,
) -> None:
    name = await system.create_function()
    await create_stock(system)
    for request in (worker_request(name, "fn/other/1"), worker_request("absent", "fn/other/2")):
        assert (await system.api.post(UNITS, request)).status_and_code == (409, "conflict")
    unowned = await system.api.post(UNITS, worker_request(name, new_name("mine")))
    assert unowned.status == 201
    assert (
        "ownerReferences"
        not in (await system.installation.get_unit(unowned.data["name"]))["metadata"]
    )


def worker_request(function_name: str, operation_id: str) -> dict[str, Any]:
    return {
        "operationID": operation_id,
        "name": new_name("worker"),
        "specName": "g1.1",
        "image": "example/echo:1",
        "serverless": {"requestID": function_name},
    }


async def create_stock(system: InvocationApi) -> None:
    """Create one claimable stock unit, with the status that the controller would write."""
    name, namespace = new_name("stock"), system.installation.namespaces.stock
    created = await system.installation.create("gpuunits", unit_manifest(name), namespace=namespace)
    path = system.installation.path("gpuunits", name, namespace=namespace)
    status = {"phase": "Ready", "observedGeneration": created["metadata"]["generation"]}
    await system.installation.admin.patch(f"{path}/status", {"status": status})
