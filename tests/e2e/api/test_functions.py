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
async def ingress(
    installed_control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[InvocationApi]:
    """Run two API replicas and a queue, without an activator and workers."""
    async with new_invocation_api(
        installed_control_plane, tmp_path_factory.mktemp("functions")
    ) as made:
        yield made


def a_function(**changes: Any) -> dict[str, Any]:
    named = {"operationID": new_name("make"), "name": new_name("fn")}
    return {**named, "specName": "g1.1", "image": "example/echo:1", **changes}


async def held(ingress: InvocationApi, name: str) -> None:
    """Add the activator's finalizer to a function. The activator then has to settle its queue."""
    patch = {"metadata": {"finalizers": [QUEUE_FINALIZER]}}
    await ingress.installation.admin.patch(ingress.installation.path("functions", name), patch)


async def test_a_function_is_made_once_and_shown_flat(ingress: InvocationApi) -> None:
    asked = a_function(maxWorkers=4, framework={"invokePath": "/run"})
    made = await ingress.api.post(FUNCTIONS, asked)
    assert (made.status, made.headers["Location"]) == (201, function_path(asked["name"]))
    again = await ingress.replica.post(FUNCTIONS, asked)
    assert (again.status, again.data["uid"]) == (200, made.data["uid"])
    defaults = {"minWorkers": 0, "maxWorkers": 4, "concurrency": 1, "ttlSeconds": 3600}
    assert made.data.items() >= {**defaults, "maxQueued": 10000, "image": asked["image"]}.items()
    assert made.data["framework"] == {"invokePath": "/run"}
    other = await ingress.api.post(FUNCTIONS, {**asked, "image": "other"})
    assert other.status_and_code == (409, "operation_conflict")
    stolen = await ingress.api.post(FUNCTIONS, {**asked, "operationID": new_name("other")})
    assert stolen.status_and_code == (409, "already_exists")
    listed = (await ingress.replica.get(FUNCTIONS)).data
    assert asked["name"] in [each["name"] for each in listed]


async def test_a_function_change_keeps_omitted_fields(ingress: InvocationApi) -> None:
    name = await ingress.create_function(
        maxWorkers=4, concurrency=8, framework={"invokePath": "/run"}
    )
    shown = await ingress.api.get(function_path(name))
    match = {"If-Match": shown.headers["ETag"]}
    change = {"maxWorkers": 6, "concurrency": None, "framework": None}
    changed = await ingress.replica.put(function_path(name), change, match)
    assert (changed.status, changed.data["maxWorkers"], changed.data["concurrency"]) == (200, 6, 1)
    assert "framework" not in changed.data
    late = await ingress.api.put(function_path(name), {"maxWorkers": 7}, match)
    assert late.status_and_code == (412, "precondition_failed")
    fixed = await ingress.api.put(function_path(name), {"specName": "g2", "name": "other"})
    assert sorted(fixed.field_errors) == ["name", "specName"]


@pytest.mark.parametrize(
    ("asked", "field"),
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
async def test_bad_functions_are_refused_by_field(
    ingress: InvocationApi, asked: dict[str, Any], field: str
) -> None:
    answer = await ingress.api.post(FUNCTIONS, a_function(**asked))
    assert answer.status == 400
    assert list(answer.field_errors) == [field]


async def test_a_function_with_queued_invocations_is_deleted_only_with_purge(
    ingress: InvocationApi,
) -> None:
    name = await ingress.create_function()
    await held(ingress, name)
    await ingress.invoke(name)
    refused = await ingress.api.delete(function_path(name))
    assert refused.status_and_code == (409, "conflict")
    both = await ingress.api.delete(f"{function_path(name)}?drain=true&purge=true")
    assert both.status == 400
    drained = await ingress.api.delete(f"{function_path(name)}?drain=true")
    assert drained.status == 202
    assert drained.data["deletingSince"]
    assert await intent(ingress, name) == "drain"
    assert (await ingress.replica.delete(f"{function_path(name)}?purge=true")).status == 202
    assert await intent(ingress, name) == "purge"
    late = await ingress.invoke(name, ingress.replica)
    assert late.status_and_code == (409, "conflict")


async def intent(ingress: InvocationApi, name: str) -> str:
    found = await ingress.installation.admin.get(ingress.installation.path("functions", name))
    told: str = found["metadata"]["annotations"][ON_DELETE_ANNOTATION]
    return told


async def test_an_idle_function_is_gone_at_once(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    assert (await ingress.api.delete(function_path(name))).status == 204
    assert (await ingress.api.get(function_path(name))).status == 404
    assert (await ingress.api.delete(function_path(name))).status == 404


async def test_a_worker_belongs_to_its_function(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    uid = (await ingress.api.get(function_path(name))).data["uid"]
    await stock(ingress)
    order = a_worker(name, f"fn/{uid}/1")
    assert (await ingress.api.post(UNITS, order)).status == 201
    owners = (await ingress.installation.get_unit(order["name"]))["metadata"]["ownerReferences"]
    assert [(each["kind"], each["name"], each["uid"]) for each in owners] == [
        ("Function", name, uid)
    ]
    assert (await ingress.replica.post(UNITS, order)).status == 200


async def test_a_worker_of_no_function_or_of_another_is_refused(ingress: InvocationApi) -> None:
    name = await ingress.create_function()
    await stock(ingress)
    for order in (a_worker(name, "fn/other/1"), a_worker("nobody", "fn/other/2")):
        assert (await ingress.api.post(UNITS, order)).status_and_code == (409, "conflict")
    by_hand = await ingress.api.post(UNITS, a_worker(name, new_name("mine")))
    assert by_hand.status == 201
    assert (
        "ownerReferences"
        not in (await ingress.installation.get_unit(by_hand.data["name"]))["metadata"]
    )


def a_worker(function_name: str, operation_id: str) -> dict[str, Any]:
    return {
        "operationID": operation_id,
        "name": new_name("worker"),
        "specName": "g1.1",
        "image": "example/echo:1",
        "serverless": {"requestID": function_name},
    }


async def stock(ingress: InvocationApi) -> None:
    """Create one claimable stock unit, with the status that the controller would write."""
    name, where = new_name("stock"), ingress.installation.namespaces.stock
    made = await ingress.installation.create("gpuunits", unit_manifest(name), namespace=where)
    path = ingress.installation.path("gpuunits", name, namespace=where)
    status = {"phase": "Ready", "observedGeneration": made["metadata"]["generation"]}
    await ingress.installation.admin.patch(f"{path}/status", {"status": status})
