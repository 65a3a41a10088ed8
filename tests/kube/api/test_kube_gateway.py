"""The API's Kubernetes gateway on a real API server, with the API's own account."""

import asyncio
import base64
import itertools
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from apiserver.kube import errors as kube_errors
from apiserver.kube.client import RestKubeClient
from apiserver.kube.port import ListOptions
from apiserver.kube.resources import GPU_UNITS, OPERATIONS, STOCK_POOLS, Resource
from apiserver.kube.rest import RestClient
from hack.cluster.admin_client import AdminClient
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.cluster.kube_gateway import open_gateway
from tests.support.wait.eventually import eventually

HOSTILE = [
    "",
    ".",
    "..",
    "a/../b",
    "..%2f",
    "%2e%2e",
    "a%00",
    "a\x00",
    "a/status",
    "a?watch=true",
    "a#b",
    "a\r\nX: y",
    "A",
    "\ud800",
    "a" * 254,
]
FLOW_API = "/apis/flowcontrol.apiserver.k8s.io/v1"
UNIT_COUNT = "count/gpuunits.runtime.lokiwager.io"


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
async def gateway(
    installation: IsolatedInstallation, registry: CollectorRegistry
) -> AsyncIterator[RestKubeClient]:
    async with open_gateway(installation.api_kubeconfig, registry=registry) as made:
        yield made


@pytest.fixture
def here(installation: IsolatedInstallation) -> str:
    return installation.namespaces.stock


async def make(gateway: RestKubeClient, namespace: str, name: str, **spec: Any) -> GPUUnit:
    return await gateway.create(GPU_UNITS, namespace, unit_manifest(name, **spec))


def an_operation(name: str) -> dict[str, Any]:
    spec = {"operationID": name, "type": "SeedStockUnits", "requestHash": "v1:x"}
    return {
        "apiVersion": "runtime.lokiwager.io/v1alpha1",
        "kind": "Operation",
        "metadata": {"name": name},
        "spec": spec,
    }


# One object.


async def test_a_created_object_is_read_back(
    gateway: RestKubeClient, installation: IsolatedInstallation, here: str
) -> None:
    made = await make(gateway, here, "one", memory="2Gi")
    assert (made.metadata.name, made.spec.memory, made.metadata.generation) == ("one", "2Gi", 1)
    assert await gateway.get(GPU_UNITS, here, "one") == made
    seen = await installation.get_stock("one")
    assert seen["metadata"]["managedFields"][0]["manager"] == "gpu-runtime-api"


async def test_a_patch_changes_what_it_names_and_keeps_the_rest(
    gateway: RestKubeClient, here: str
) -> None:
    made = await make(gateway, here, "one")
    body = {"metadata": {"labels": {"a": "b"}, "resourceVersion": made.metadata.resource_version}}
    changed = await gateway.patch(GPU_UNITS, here, "one", body)
    assert (changed.metadata.labels, changed.spec) == ({"a": "b"}, made.spec)


async def test_a_status_is_patched_apart_from_its_object(
    gateway: RestKubeClient, installation: IsolatedInstallation
) -> None:
    here = installation.namespaces.system
    await gateway.create(OPERATIONS, here, an_operation("one"))
    body = {"status": {"phase": "Running", "requested": 3}, "spec": {"requestHash": "other"}}
    changed = await gateway.patch(OPERATIONS, here, "one", body, "status")
    assert (changed.status.phase, changed.status.requested) == ("Running", 3)
    assert changed.spec.request_hash == "v1:x"


async def test_a_deleted_object_is_not_found(gateway: RestKubeClient, here: str) -> None:
    made = await make(gateway, here, "one")
    uid, version = made.metadata.uid, made.metadata.resource_version
    await gateway.delete(GPU_UNITS, here, "one", uid=uid, resource_version=version)
    with pytest.raises(kube_errors.NotFoundError, match=r'with 404: .*"one" not found\.$'):
        await gateway.get(GPU_UNITS, here, "one")


async def test_every_call_is_counted_by_its_method(
    gateway: RestKubeClient, registry: CollectorRegistry, here: str
) -> None:
    await make(gateway, here, "one")
    await gateway.patch(GPU_UNITS, here, "one", {"metadata": {"labels": {"a": "b"}}})
    await gateway.get(GPU_UNITS, here, "one")
    await gateway.delete(GPU_UNITS, here, "one")
    host = gateway.server.removeprefix("https://")
    for method, code in (("POST", "201"), ("PATCH", "200"), ("GET", "200"), ("DELETE", "200")):
        labels = {"code": code, "method": method, "host": host}
        assert registry.get_sample_value("rest_client_requests_total", labels) == 1.0
        timed = {"verb": method, "host": host}
        name = "rest_client_request_duration_seconds_count"
        assert registry.get_sample_value(name, timed) == 1.0


# Refusals.


async def test_every_verb_raises_not_found_for_an_absent_object(
    gateway: RestKubeClient, here: str
) -> None:
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.get(GPU_UNITS, here, "none")
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.patch(GPU_UNITS, here, "none", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.delete(GPU_UNITS, here, "none")


async def test_a_name_can_be_taken_once(gateway: RestKubeClient, here: str) -> None:
    await make(gateway, here, "one")
    with pytest.raises(kube_errors.AlreadyExistsError):
        await make(gateway, here, "one")


@pytest.mark.parametrize("condition", ["uid", "resourceVersion"])
async def test_a_patch_of_another_version_is_stale(
    gateway: RestKubeClient, here: str, condition: str
) -> None:
    await make(gateway, here, "one")
    body = {"metadata": {condition: "1", "labels": {"a": "b"}}}
    with pytest.raises(kube_errors.ConflictError):
        await gateway.patch(GPU_UNITS, here, "one", body)


@pytest.mark.parametrize("condition", ["uid", "resource_version"])
async def test_a_deletion_of_another_version_is_stale(
    gateway: RestKubeClient, here: str, condition: str
) -> None:
    await make(gateway, here, "one")
    with pytest.raises(kube_errors.ConflictError):
        await gateway.delete(GPU_UNITS, here, "one", **{condition: "1"})
    assert (await gateway.get(GPU_UNITS, here, "one")).metadata.deletion_timestamp is None


async def test_an_invalid_body_is_rejected_with_the_servers_message(
    gateway: RestKubeClient, here: str
) -> None:
    with pytest.raises(
        kube_errors.InvalidError, match=r"with 422: Invalid spec\.gpu\.$"
    ) as refusal:
        await make(gateway, here, "one", gpu=-7)
    assert "spec.gpu: Invalid value: -7" in refusal.value.message


async def test_a_body_that_is_no_unicode_is_rejected_unsent(
    gateway: RestKubeClient, here: str
) -> None:
    with pytest.raises(kube_errors.InvalidError, match="not sent"):
        await make(gateway, here, "one", image="\ud800")


async def test_a_body_of_another_kind_is_rejected(gateway: RestKubeClient, here: str) -> None:
    with pytest.raises(kube_errors.InvalidError, match="with 422: Invalid kind"):
        await gateway.create(STOCK_POOLS, here, unit_manifest("one"))


async def test_another_namespace_is_forbidden(gateway: RestKubeClient) -> None:
    with pytest.raises(kube_errors.ForbiddenError, match=r"with 403: .* Check that manifests/rbac"):
        await gateway.list(GPU_UNITS, "kube-system", ListOptions())


async def test_a_full_quota_is_recognised_by_its_message(
    gateway: RestKubeClient, installation: IsolatedInstallation, here: str
) -> None:
    await installation.create("resourcequotas", {"metadata": {"name": "few"}}, namespace=here)

    async def refusal() -> str:
        # The quota controller, which knows of no limit here, may have undone the status.
        await installation.admin.patch(quota_status(installation, here), counted(1, 1))
        try:
            await gateway.delete(GPU_UNITS, here, (await make(gateway, here, "one")).metadata.name)
        except kube_errors.QuotaExceededError as error:
            return error.message
        return ""

    text = await eventually(refusal)  # the server reads quotas through a cache
    assert text.startswith("exceeded quota: few, requested: ")


async def test_a_full_quota_is_reported_before_a_taken_name(
    gateway: RestKubeClient, installation: IsolatedInstallation, here: str
) -> None:
    await make(gateway, here, "one")
    await installation.create("resourcequotas", {"metadata": {"name": "few"}}, namespace=here)

    async def refusal() -> type[kube_errors.KubeError]:
        await installation.admin.patch(quota_status(installation, here), counted(1, 1))
        try:
            await make(gateway, here, "one")
        except kube_errors.KubeError as error:
            return type(error)
        raise AssertionError("made twice")

    await eventually(refusal, lambda found: found is kube_errors.QuotaExceededError)


async def test_creates_that_collide_over_a_quota_can_be_tried_again(
    gateway: RestKubeClient, installation: IsolatedInstallation, here: str
) -> None:
    """Test a conflict on a quota.

    Other requests change it all the time, so the server cannot count the new object.
    """
    await installation.create("resourcequotas", {"metadata": {"name": "few"}}, namespace=here)

    enough = asyncio.Event()

    async def others() -> None:
        for used in itertools.count():
            await installation.admin.patch(
                quota_status(installation, here), counted(1_000_000, used)
            )
            if enough.is_set():
                return

    async def crowd() -> set[type[BaseException]]:
        made = [make(gateway, here, f"u-{secrets.token_hex(6)}") for _ in range(20)]
        answers = await asyncio.gather(*made, return_exceptions=True)
        return {type(each) for each in answers if isinstance(each, BaseException)}

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(others())
        refusals = await eventually(crowd, timeout_seconds=120)
        enough.set()  # a request that is cancelled while it connects leaves a socket behind

    assert refusals == {kube_errors.ThrottledError}


def quota_status(site: IsolatedInstallation, namespace: str) -> str:
    return site.path("resourcequotas", "few/status", namespace=namespace)


def counted(hard: int, used: int) -> dict[str, Any]:
    return {"status": {"hard": {UNIT_COUNT: hard}, "used": {UNIT_COUNT: used}}}


async def test_a_busy_server_is_asked_again_and_says_when_to_come_back(
    gateway: RestKubeClient,
    registry: CollectorRegistry,
    installation: IsolatedInstallation,
    here: str,
) -> None:
    """Limit the server to one request of ours at a time.

    Most of many parallel requests must then be retried.
    """
    labels = {"code": "429", "method": "GET", "host": gateway.server.removeprefix("https://")}

    async def crowd() -> list[BaseException]:
        calls = [gateway.list(GPU_UNITS, here, ListOptions()) for _ in range(40)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        return [answer for answer in answers if isinstance(answer, BaseException)]

    async with jailed(installation.admin, here):
        failures = await eventually(crowd)
    assert {type(failure) for failure in failures} == {kube_errors.ThrottledError}
    assert all(getattr(failure, "retry_after", 0) >= 1 for failure in failures)
    refusals = registry.get_sample_value("rest_client_requests_total", labels) or 0
    assert refusals > len(failures)  # the first answer asks for one second, and is obeyed


@asynccontextmanager
async def jailed(admin: AdminClient, namespace: str) -> AsyncIterator[None]:
    """Give the API's requests in that namespace almost no server capacity inside the block."""
    level = {
        "nominalConcurrencyShares": 0,
        "borrowingLimitPercent": 0,
        "limitResponse": {"type": "Reject"},
    }
    bodies: dict[str, dict[str, Any]] = {
        "prioritylevelconfigurations": {"type": "Limited", "limited": level},
        "flowschemas": {
            "priorityLevelConfiguration": {"name": namespace},
            "matchingPrecedence": 100,
            "rules": [jail_rule(namespace)],
        },
    }
    for kind, spec in bodies.items():
        await admin.create(f"{FLOW_API}/{kind}", {"metadata": {"name": namespace}, "spec": spec})
    try:
        yield
    finally:
        for kind in bodies:
            await admin.delete(f"{FLOW_API}/{kind}/{namespace}")


def jail_rule(namespace: str) -> dict[str, Any]:
    account = {"name": "runtime-api", "namespace": "runtime-system"}
    where = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": [namespace]}
    return {
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
        "resourceRules": [where],
    }


async def test_a_kind_that_is_not_installed_is_no_absent_object(
    installed_control_plane: ControlPlane, here: str
) -> None:
    gizmos = Resource("Gizmo", "gizmos", GPUUnit)
    async with open_gateway(installed_control_plane.layout.admin_kubeconfig) as gateway:
        with pytest.raises(
            kube_errors.UnexpectedResponseError, match="Check that manifests are applied"
        ):
            await gateway.get(gizmos, here, "one")
        with pytest.raises(
            kube_errors.UnexpectedResponseError, match='namespaces "nowhere" not found'
        ):
            await make(gateway, "nowhere", "one")


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
async def test_a_malformed_name_never_reaches_another_path(
    gateway: RestKubeClient, here: str, name: str
) -> None:
    await make(gateway, here, "a")
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.get(GPU_UNITS, here, name)
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.patch(GPU_UNITS, here, name, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.delete(GPU_UNITS, here, name)
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.list(GPU_UNITS, name, ListOptions())
    with pytest.raises(kube_errors.NotFoundError):
        await anext(gateway.watch(GPU_UNITS, here, name, ""))
    assert (await gateway.get(GPU_UNITS, here, "a")).metadata.labels == {}


# Lists.


async def test_a_list_is_read_page_by_page(gateway: RestKubeClient, here: str) -> None:
    names = [f"unit-{number:02}" for number in range(25)]
    await asyncio.gather(*(make(gateway, here, name) for name in names))
    token, sizes, remaining, seen = "", [], [], []
    while True:
        page = await gateway.list(GPU_UNITS, here, ListOptions(limit=10, continue_token=token))
        sizes.append(len(page.items))
        remaining.append(page.remaining)
        seen += [unit.metadata.name for unit in page.items]
        token = page.continue_token
        if not token:
            break
    assert (sizes, remaining, seen) == ([10, 10, 5], [15, 5, None], names)


async def test_a_list_is_narrowed_by_label_and_by_field(gateway: RestKubeClient, here: str) -> None:
    for name in ("a", "b"):
        body = unit_manifest(name)
        body["metadata"]["labels"] = {"team": name, "own": "yes"}
        await gateway.create(GPU_UNITS, here, body)
    by_label = await gateway.list(GPU_UNITS, here, ListOptions(label_selector="team in (a,c),own"))
    by_field = await gateway.list(GPU_UNITS, here, ListOptions(field_selector="metadata.name=b"))
    assert [unit.metadata.name for unit in by_label.items] == ["a"]
    assert [unit.metadata.name for unit in by_field.items] == ["b"]


async def test_a_cached_list_has_it_soon(gateway: RestKubeClient, here: str) -> None:
    await make(gateway, here, "one")

    async def listed() -> int:
        return len((await gateway.list(GPU_UNITS, here, ListOptions(from_cache=True))).items)

    await eventually(listed, lambda count: count == 1)


@pytest.mark.parametrize(
    "selection",
    [ListOptions(label_selector="a=("), ListOptions(limit=1, continue_token="x")],  # noqa: S106
)
async def test_a_malformed_selector_is_rejected(
    gateway: RestKubeClient, here: str, selection: ListOptions
) -> None:
    with pytest.raises(kube_errors.InvalidError):
        await gateway.list(GPU_UNITS, here, selection)


async def test_a_continue_token_of_a_compacted_version_is_expired(
    gateway: RestKubeClient, installed_control_plane: ControlPlane, here: str
) -> None:
    made = [await make(gateway, here, name) for name in ("a", "b")]
    token = (await gateway.list(GPU_UNITS, here, ListOptions(limit=1))).continue_token
    await forget_until(installed_control_plane, made[-1].metadata.resource_version)
    with pytest.raises(kube_errors.ExpiredError):
        await gateway.list(
            GPU_UNITS, here, ListOptions(limit=1, continue_token=at_version_one(token))
        )


async def forget_until(plane: ControlPlane, version: str) -> None:
    """Compact etcd up to this version, which drops older versions, as happens every few minutes."""
    url = f"{plane.layout.etcd_url}/v3/kv/compaction"
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, json={"revision": version, "physical": True}) as response,
    ):
        assert response.status == 200, await response.text()


def at_version_one(token: str) -> str:
    """Change a continue token to one of a list that began when the cluster was new."""
    padded = token + "=" * (-len(token) % 4)
    place = {**json.loads(base64.urlsafe_b64decode(padded)), "rv": 1}
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


# Watches.


async def test_a_watch_sees_changes_and_the_end(gateway: RestKubeClient, here: str) -> None:
    made = await make(gateway, here, "one")
    await make(gateway, here, "other")
    version = made.metadata.resource_version
    async with aclosing(gateway.watch(GPU_UNITS, here, "one", version)) as versions:
        await gateway.patch(GPU_UNITS, here, "one", {"metadata": {"labels": {"a": "b"}}})
        changed = await anext(versions)
        assert changed is not None
        assert changed.metadata.labels == {"a": "b"}
        await gateway.delete(GPU_UNITS, here, "other")
        await gateway.delete(GPU_UNITS, here, "one")
        assert await anext(versions) is None


async def test_a_watch_from_the_version_of_a_list_misses_nothing(
    gateway: RestKubeClient, here: str
) -> None:
    await make(gateway, here, "one")
    listed = await gateway.list(GPU_UNITS, here, ListOptions(field_selector="metadata.name=one"))
    await gateway.patch(GPU_UNITS, here, "one", {"metadata": {"labels": {"a": "b"}}})
    async with aclosing(gateway.watch(GPU_UNITS, here, "one", listed.resource_version)) as versions:
        changed = await anext(versions)

    assert changed is not None
    assert changed.metadata.labels == {"a": "b"}


async def test_a_watch_that_is_closed_gives_its_connection_back(
    gateway: RestKubeClient, here: str
) -> None:
    await make(gateway, here, "one")
    rest = gateway._rest
    assert isinstance(rest, RestClient)
    connector = rest._session.connector
    assert connector is not None
    async with aclosing(gateway.watch(GPU_UNITS, here, "one", "")) as versions:
        await anext(versions)
        assert len(connector._acquired) == 1
    assert len(connector._acquired) == 0


async def test_a_watch_from_a_compacted_version_ends(gateway: RestKubeClient, here: str) -> None:
    await make(gateway, here, "one")
    assert [seen async for seen in gateway.watch(GPU_UNITS, here, "one", "1")] == []
