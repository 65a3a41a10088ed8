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

INVALID_NAMES = [
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
    async with open_gateway(installation.api_kubeconfig, registry=registry) as gateway:
        yield gateway


@pytest.fixture
def namespace(installation: IsolatedInstallation) -> str:
    """Return the stock namespace, which replaces the empty namespace of other tests."""
    return installation.namespaces.stock


async def create_unit(gateway: RestKubeClient, namespace: str, name: str, **spec: Any) -> GPUUnit:
    return await gateway.create(GPU_UNITS, namespace, unit_manifest(name, **spec))


def operation_manifest(name: str) -> dict[str, Any]:
    spec = {"operationID": name, "type": "SeedStockUnits", "requestHash": "v1:x"}
    return {
        "apiVersion": "runtime.lokiwager.io/v1alpha1",
        "kind": "Operation",
        "metadata": {"name": name},
        "spec": spec,
    }


# One object.


async def test_a_created_object_is_read_back(
    gateway: RestKubeClient, installation: IsolatedInstallation, namespace: str
) -> None:
    created = await create_unit(gateway, namespace, "one", memory="2Gi")
    assert (created.metadata.name, created.metadata.generation) == ("one", 1)
    assert created.spec.memory == "2Gi"
    assert await gateway.get(GPU_UNITS, namespace, "one") == created
    stored = await installation.get_stock("one")
    assert stored["metadata"]["managedFields"][0]["manager"] == "gpu-runtime-api"


async def test_a_patch_changes_only_the_fields_that_it_contains(
    gateway: RestKubeClient, namespace: str
) -> None:
    created = await create_unit(gateway, namespace, "one")
    version = created.metadata.resource_version
    body = {"metadata": {"labels": {"a": "b"}, "resourceVersion": version}}
    changed = await gateway.patch(GPU_UNITS, namespace, "one", body)
    assert (changed.metadata.labels, changed.spec) == ({"a": "b"}, created.spec)


async def test_a_status_patch_does_not_change_the_spec(
    gateway: RestKubeClient, installation: IsolatedInstallation
) -> None:
    namespace = installation.namespaces.system
    await gateway.create(OPERATIONS, namespace, operation_manifest("one"))
    body = {"status": {"phase": "Running", "requested": 3}, "spec": {"requestHash": "other"}}
    changed = await gateway.patch(OPERATIONS, namespace, "one", body, "status")
    assert (changed.status.phase, changed.status.requested) == ("Running", 3)
    assert changed.spec.request_hash == "v1:x"


async def test_a_deleted_object_is_not_found(gateway: RestKubeClient, namespace: str) -> None:
    created = await create_unit(gateway, namespace, "one")
    uid, version = created.metadata.uid, created.metadata.resource_version
    await gateway.delete(GPU_UNITS, namespace, "one", uid=uid, resource_version=version)
    with pytest.raises(kube_errors.NotFoundError, match=r'with 404: .*"one" not found\.$'):
        await gateway.get(GPU_UNITS, namespace, "one")


async def test_every_call_is_counted_by_its_method(
    gateway: RestKubeClient, registry: CollectorRegistry, namespace: str
) -> None:
    await create_unit(gateway, namespace, "one")
    await gateway.patch(GPU_UNITS, namespace, "one", {"metadata": {"labels": {"a": "b"}}})
    await gateway.get(GPU_UNITS, namespace, "one")
    await gateway.delete(GPU_UNITS, namespace, "one")
    host = gateway.server.removeprefix("https://")
    for method, code in (("POST", "201"), ("PATCH", "200"), ("GET", "200"), ("DELETE", "200")):
        labels = {"code": code, "method": method, "host": host}
        assert registry.get_sample_value("rest_client_requests_total", labels) == 1.0
        labels_of_duration = {"verb": method, "host": host}
        name = "rest_client_request_duration_seconds_count"
        assert registry.get_sample_value(name, labels_of_duration) == 1.0


# Refusals.


async def test_every_verb_raises_not_found_for_an_absent_object(
    gateway: RestKubeClient, namespace: str
) -> None:
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.get(GPU_UNITS, namespace, "none")
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.patch(GPU_UNITS, namespace, "none", {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.delete(GPU_UNITS, namespace, "none")


async def test_a_create_with_a_taken_name_is_refused(
    gateway: RestKubeClient, namespace: str
) -> None:
    await create_unit(gateway, namespace, "one")
    with pytest.raises(kube_errors.AlreadyExistsError):
        await create_unit(gateway, namespace, "one")


@pytest.mark.parametrize("condition", ["uid", "resourceVersion"])
async def test_a_patch_of_another_version_is_a_conflict(
    gateway: RestKubeClient, namespace: str, condition: str
) -> None:
    await create_unit(gateway, namespace, "one")
    body = {"metadata": {condition: "1", "labels": {"a": "b"}}}
    with pytest.raises(kube_errors.ConflictError):
        await gateway.patch(GPU_UNITS, namespace, "one", body)


@pytest.mark.parametrize("condition", ["uid", "resource_version"])
async def test_a_deletion_of_another_version_is_a_conflict(
    gateway: RestKubeClient, namespace: str, condition: str
) -> None:
    await create_unit(gateway, namespace, "one")
    with pytest.raises(kube_errors.ConflictError):
        await gateway.delete(GPU_UNITS, namespace, "one", **{condition: "1"})
    assert (await gateway.get(GPU_UNITS, namespace, "one")).metadata.deletion_timestamp is None


async def test_an_invalid_body_is_rejected_with_the_servers_message(
    gateway: RestKubeClient, namespace: str
) -> None:
    with pytest.raises(
        kube_errors.InvalidError, match=r"with 422: Invalid spec\.gpu\.$"
    ) as refusal:
        await create_unit(gateway, namespace, "one", gpu=-7)
    assert "spec.gpu: Invalid value: -7" in refusal.value.message


async def test_a_body_with_invalid_unicode_is_rejected_and_not_sent(
    gateway: RestKubeClient, namespace: str
) -> None:
    with pytest.raises(kube_errors.InvalidError, match="not sent"):
        await create_unit(gateway, namespace, "one", image="\ud800")


async def test_a_body_of_another_kind_is_rejected(gateway: RestKubeClient, namespace: str) -> None:
    with pytest.raises(kube_errors.InvalidError, match="with 422: Invalid kind"):
        await gateway.create(STOCK_POOLS, namespace, unit_manifest("one"))


async def test_another_namespace_is_forbidden(gateway: RestKubeClient) -> None:
    with pytest.raises(kube_errors.ForbiddenError, match=r"with 403: .* Check that manifests/rbac"):
        await gateway.list(GPU_UNITS, "kube-system", ListOptions())


async def test_a_full_quota_is_recognised_by_its_message(
    gateway: RestKubeClient, installation: IsolatedInstallation, namespace: str
) -> None:
    await installation.create("resourcequotas", {"metadata": {"name": "few"}}, namespace=namespace)

    async def quota_message() -> str:
        # The quota controller, which has no limit here, may have reset the status.
        await installation.admin.patch(quota_status(installation, namespace), quota_counts(1, 1))
        try:
            await create_unit(gateway, namespace, "one")
            await gateway.delete(GPU_UNITS, namespace, "one")
        except kube_errors.QuotaExceededError as error:
            return error.message
        return ""

    text = await eventually(quota_message)  # the server reads quotas through a cache
    assert text.startswith("exceeded quota: few, requested: ")


async def test_a_full_quota_is_reported_before_a_taken_name(
    gateway: RestKubeClient, installation: IsolatedInstallation, namespace: str
) -> None:
    await create_unit(gateway, namespace, "one")
    await installation.create("resourcequotas", {"metadata": {"name": "few"}}, namespace=namespace)

    async def create_error() -> type[kube_errors.KubeError]:
        await installation.admin.patch(quota_status(installation, namespace), quota_counts(1, 1))
        try:
            await create_unit(gateway, namespace, "one")
        except kube_errors.KubeError as error:
            return type(error)
        raise AssertionError("the object was created twice")

    await eventually(create_error, lambda error_type: error_type is kube_errors.QuotaExceededError)


async def test_creates_that_conflict_over_a_quota_are_retryable(
    gateway: RestKubeClient, installation: IsolatedInstallation, namespace: str
) -> None:
    """Test a conflict on a quota.

    Other requests change it all the time, so the server cannot count the new object.
    """
    await installation.create("resourcequotas", {"metadata": {"name": "few"}}, namespace=namespace)

    is_done = asyncio.Event()

    async def change_quota() -> None:
        for used in itertools.count():
            await installation.admin.patch(
                quota_status(installation, namespace), quota_counts(1_000_000, used)
            )
            if is_done.is_set():
                return

    async def call_concurrently() -> set[type[BaseException]]:
        creates = [create_unit(gateway, namespace, f"u-{secrets.token_hex(6)}") for _ in range(20)]
        results = await asyncio.gather(*creates, return_exceptions=True)
        return {type(result) for result in results if isinstance(result, BaseException)}

    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(change_quota())
        refusals = await eventually(call_concurrently, timeout_seconds=120)
        is_done.set()  # a request that is cancelled while it connects leaves a socket behind

    assert refusals == {kube_errors.ThrottledError}


def quota_status(installation: IsolatedInstallation, namespace: str) -> str:
    return installation.path("resourcequotas", "few/status", namespace=namespace)


def quota_counts(hard: int, used: int) -> dict[str, Any]:
    return {"status": {"hard": {UNIT_COUNT: hard}, "used": {UNIT_COUNT: used}}}


async def test_a_throttled_call_is_retried_and_its_error_has_the_retry_time(
    gateway: RestKubeClient,
    registry: CollectorRegistry,
    installation: IsolatedInstallation,
    namespace: str,
) -> None:
    """Limit the server to one request of ours at a time.

    Most of many parallel requests must then be retried.
    """
    labels = {"code": "429", "method": "GET", "host": gateway.server.removeprefix("https://")}

    async def call_concurrently() -> list[BaseException]:
        calls = [gateway.list(GPU_UNITS, namespace, ListOptions()) for _ in range(40)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        return [result for result in results if isinstance(result, BaseException)]

    async with throttled(installation.admin, namespace):
        failures = await eventually(call_concurrently)
    assert {type(failure) for failure in failures} == {kube_errors.ThrottledError}
    assert all(getattr(failure, "retry_after", 0) >= 1 for failure in failures)
    refusals = registry.get_sample_value("rest_client_requests_total", labels) or 0
    assert refusals > len(failures)  # the calls were retried after the first responses with 429


@asynccontextmanager
async def throttled(admin: AdminClient, namespace: str) -> AsyncIterator[None]:
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
            "rules": [throttling_rule(namespace)],
        },
    }
    for kind, spec in bodies.items():
        await admin.create(f"{FLOW_API}/{kind}", {"metadata": {"name": namespace}, "spec": spec})
    try:
        yield
    finally:
        for kind in bodies:
            await admin.delete(f"{FLOW_API}/{kind}/{namespace}")


def throttling_rule(namespace: str) -> dict[str, Any]:
    account = {"name": "runtime-api", "namespace": "runtime-system"}
    rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": [namespace]}
    return {
        "subjects": [{"kind": "ServiceAccount", "serviceAccount": account}],
        "resourceRules": [rule],
    }


async def test_a_missing_kind_or_namespace_is_not_reported_as_not_found(
    installed_control_plane: ControlPlane, namespace: str
) -> None:
    missing_kind = Resource("Gizmo", "gizmos", GPUUnit)
    async with open_gateway(installed_control_plane.layout.admin_kubeconfig) as gateway:
        with pytest.raises(
            kube_errors.UnexpectedResponseError, match="Check that manifests are applied"
        ):
            await gateway.get(missing_kind, namespace, "one")
        with pytest.raises(
            kube_errors.UnexpectedResponseError, match='namespaces "nowhere" not found'
        ):
            await create_unit(gateway, "nowhere", "one")


@pytest.mark.parametrize("name", INVALID_NAMES, ids=ascii)
async def test_a_malformed_name_never_reaches_another_path(
    gateway: RestKubeClient, namespace: str, name: str
) -> None:
    await create_unit(gateway, namespace, "a")
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.get(GPU_UNITS, namespace, name)
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.patch(GPU_UNITS, namespace, name, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.delete(GPU_UNITS, namespace, name)
    with pytest.raises(kube_errors.NotFoundError):
        await gateway.list(GPU_UNITS, name, ListOptions())
    with pytest.raises(kube_errors.NotFoundError):
        await anext(gateway.watch(GPU_UNITS, namespace, name, ""))
    assert (await gateway.get(GPU_UNITS, namespace, "a")).metadata.labels == {}


# Lists.


async def test_a_list_is_read_page_by_page(gateway: RestKubeClient, namespace: str) -> None:
    names = [f"unit-{number:02}" for number in range(25)]
    await asyncio.gather(*(create_unit(gateway, namespace, name) for name in names))
    token, sizes, remaining, names_read = "", [], [], []
    while True:
        page = await gateway.list(GPU_UNITS, namespace, ListOptions(limit=10, continue_token=token))
        sizes.append(len(page.items))
        remaining.append(page.remaining)
        names_read += [unit.metadata.name for unit in page.items]
        token = page.continue_token
        if not token:
            break
    assert (sizes, remaining, names_read) == ([10, 10, 5], [15, 5, None], names)


async def test_a_list_is_filtered_by_label_and_by_field(
    gateway: RestKubeClient, namespace: str
) -> None:
    for name in ("a", "b"):
        body = unit_manifest(name)
        body["metadata"]["labels"] = {"team": name, "own": "yes"}
        await gateway.create(GPU_UNITS, namespace, body)
    by_label = await gateway.list(
        GPU_UNITS, namespace, ListOptions(label_selector="team in (a,c),own")
    )
    by_field = await gateway.list(
        GPU_UNITS, namespace, ListOptions(field_selector="metadata.name=b")
    )
    assert [unit.metadata.name for unit in by_label.items] == ["a"]
    assert [unit.metadata.name for unit in by_field.items] == ["b"]


async def test_a_cached_list_soon_contains_a_new_object(
    gateway: RestKubeClient, namespace: str
) -> None:
    await create_unit(gateway, namespace, "one")

    async def listed() -> int:
        return len((await gateway.list(GPU_UNITS, namespace, ListOptions(from_cache=True))).items)

    await eventually(listed, lambda count: count == 1)


@pytest.mark.parametrize(
    "selection",
    [ListOptions(label_selector="a=("), ListOptions(limit=1, continue_token="x")],  # noqa: S106
)
async def test_a_malformed_selector_is_rejected(
    gateway: RestKubeClient, namespace: str, selection: ListOptions
) -> None:
    with pytest.raises(kube_errors.InvalidError):
        await gateway.list(GPU_UNITS, namespace, selection)


async def test_a_continue_token_of_a_compacted_version_is_expired(
    gateway: RestKubeClient, installed_control_plane: ControlPlane, namespace: str
) -> None:
    created = [await create_unit(gateway, namespace, name) for name in ("a", "b")]
    token = (await gateway.list(GPU_UNITS, namespace, ListOptions(limit=1))).continue_token
    await compact_until(installed_control_plane, created[-1].metadata.resource_version)
    with pytest.raises(kube_errors.ExpiredError):
        await gateway.list(
            GPU_UNITS, namespace, ListOptions(limit=1, continue_token=at_version_one(token))
        )


async def compact_until(plane: ControlPlane, version: str) -> None:
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
    content = {**json.loads(base64.urlsafe_b64decode(padded)), "rv": 1}
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


# Watches.


async def test_a_watch_sees_changes_and_the_end(gateway: RestKubeClient, namespace: str) -> None:
    created = await create_unit(gateway, namespace, "one")
    await create_unit(gateway, namespace, "other")
    version = created.metadata.resource_version
    async with aclosing(gateway.watch(GPU_UNITS, namespace, "one", version)) as versions:
        await gateway.patch(GPU_UNITS, namespace, "one", {"metadata": {"labels": {"a": "b"}}})
        changed = await anext(versions)
        assert changed is not None
        assert changed.metadata.labels == {"a": "b"}
        await gateway.delete(GPU_UNITS, namespace, "other")
        await gateway.delete(GPU_UNITS, namespace, "one")
        assert await anext(versions) is None


async def test_a_watch_from_the_version_of_a_list_misses_nothing(
    gateway: RestKubeClient, namespace: str
) -> None:
    await create_unit(gateway, namespace, "one")
    listed = await gateway.list(
        GPU_UNITS, namespace, ListOptions(field_selector="metadata.name=one")
    )
    await gateway.patch(GPU_UNITS, namespace, "one", {"metadata": {"labels": {"a": "b"}}})
    async with aclosing(
        gateway.watch(GPU_UNITS, namespace, "one", listed.resource_version)
    ) as versions:
        changed = await anext(versions)

    assert changed is not None
    assert changed.metadata.labels == {"a": "b"}


async def test_a_closed_watch_releases_its_connection(
    gateway: RestKubeClient, namespace: str
) -> None:
    await create_unit(gateway, namespace, "one")
    rest = gateway._rest
    assert isinstance(rest, RestClient)
    connector = rest._session.connector
    assert connector is not None
    async with aclosing(gateway.watch(GPU_UNITS, namespace, "one", "")) as versions:
        await anext(versions)
        assert len(connector._acquired) == 1
    assert len(connector._acquired) == 0


async def test_a_watch_from_a_compacted_version_ends(
    gateway: RestKubeClient, namespace: str
) -> None:
    await create_unit(gateway, namespace, "one")
    assert [version async for version in gateway.watch(GPU_UNITS, namespace, "one", "1")] == []
