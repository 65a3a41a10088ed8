"""Our CRDs on the API server: it accepts them and validates objects."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.cluster.errors import ClusterError
from hack.local.state_dir import ROOT
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.group import API_VERSION, GROUP
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool
from shared.v1alpha1.wellknown import SOURCE_STOCK_NAME_ANNOTATION
from tests.support.builders.pods import condition
from tests.support.cluster.product_processes import admin_kubectl, wait_kinds_served
from tests.support.wait.eventually import eventually

AsKubectl = Callable[..., Awaitable[str]]

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PLURALS = {
    "GPUUnit": "gpuunits",
    "StockPool": "stockpools",
    "GPUStorage": "gpustorages",
    "Operation": "operations",
    "Function": "functions",
}
SPECS: Mapping[str, dict[str, Any]] = {
    "GPUUnit": {"specName": "g1.1"},
    "StockPool": {"specName": "g1.1"},
    "GPUStorage": {"size": "1Gi"},
    "Operation": {"operationID": "o", "type": "CreateGPUUnit", "requestHash": "v1:h"},
    "Function": {"specName": "g1.1", "image": "i"},
}
SAMPLES = [
    yaml.safe_load(path.read_text()) for path in sorted((ROOT / "manifests/samples").glob("*.yaml"))
]


class Resources:
    """Our custom resources in the test's namespace."""

    def __init__(self, admin: AdminClient, namespace: str) -> None:
        self._admin = admin
        self._namespace = namespace

    def path(self, kind: str, name: str = "") -> str:
        path = f"/apis/{API_VERSION}/namespaces/{self._namespace}/{PLURALS[kind]}"
        return f"{path}/{name}" if name else path

    async def create(self, kind: str, name: str = "a", **spec: Any) -> dict[str, Any]:
        """Create a small valid object, with the fields of `spec` replaced.

        An unknown field is refused.
        """
        body = {
            "apiVersion": API_VERSION,
            "kind": kind,
            "metadata": {"name": name},
            "spec": {**SPECS[kind], **spec},
        }
        query = {"fieldValidation": "Strict"}
        path = self.path(kind)
        created: dict[str, Any] = await self._admin.request("POST", path, body, query=query)
        return created

    async def change(self, kind: str, name: str = "a", **spec: Any) -> Any:
        return await self._admin.patch(self.path(kind, name), {"spec": spec})

    async def report(self, kind: str, name: str = "a", **status: Any) -> Any:
        return await self._admin.patch(self.path(kind, f"{name}/status"), {"status": status})

    async def names(self, kind: str, selector: str) -> list[str]:
        body = await self._admin.get(self.path(kind), fieldSelector=selector)
        return [item["metadata"]["name"] for item in body["items"]]


@pytest.fixture(scope="module")
def definitions(control_plane: ControlPlane) -> None:
    """Install our CRDs in the cluster."""
    asyncio.run(install(control_plane))


async def install(plane: ControlPlane) -> None:
    kubectl = admin_kubectl(plane)
    await kubectl.run("apply", "--server-side", "-k", str(ROOT / "manifests" / "crd"))
    for plural in PLURALS.values():
        await eventually(partial(plane.admin.get, f"{CRDS}/{plural}.{GROUP}"), is_established)
    await wait_kinds_served(plane.admin)


def is_established(crd: Mapping[str, Any]) -> bool:
    return condition(crd, "Established").get("status") == "True"


@pytest.fixture
def resources(definitions: None, admin: AdminClient, namespace: str) -> Resources:
    """Return our custom resources in a new namespace of the test."""
    return Resources(admin, namespace)


@pytest.fixture
def kubectl(control_plane: ControlPlane, tmp_path: Path) -> AsKubectl:
    """Return kubectl without a discovery cache from before the CRDs existed."""
    return partial(admin_kubectl(control_plane).run, f"--cache-dir={tmp_path}")


@pytest.mark.parametrize("plural", PLURALS.values())
async def test_a_crd_is_established_and_structural(
    resources: Resources, admin: AdminClient, plural: str
) -> None:
    crd = await admin.get(f"{CRDS}/{plural}.{GROUP}")
    assert is_established(crd)
    assert condition(crd, "NonStructuralSchema") == {}


@pytest.mark.parametrize("kind", PLURALS)
async def test_the_stored_crd_has_a_description_of_every_spec_field(
    resources: Resources, admin: AdminClient, kind: str
) -> None:
    crd = await admin.get(f"{CRDS}/{PLURALS[kind]}.{GROUP}")
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    fields = schema["properties"]["spec"]["properties"]
    assert all(field["description"] for field in fields.values())


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["kind"])
async def test_a_sample_is_accepted(
    resources: Resources, admin: AdminClient, namespace: str, sample: dict[str, Any]
) -> None:
    name = sample["metadata"]["name"]
    body = {**sample, "metadata": {"name": name, "namespace": namespace}}
    path = resources.path(sample["kind"], name)
    created = await admin.apply(path, body, fieldValidation="Strict")
    assert created["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("GPUUnit", GPUUnit),
        ("StockPool", StockPool),
        ("GPUStorage", GPUStorage),
        ("Operation", Operation),
        ("Function", Function),
    ],
)
async def test_the_server_sets_the_same_defaults_as_the_model(
    resources: Resources, kind: str, model: type[Any]
) -> None:
    created = await resources.create(kind)
    minimal = {"metadata": {}, "spec": SPECS[kind]}
    assert msgspec.convert(created, model).spec == msgspec.convert(minimal, model).spec


@pytest.mark.parametrize(
    ("kind", "spec", "path"),
    [
        ("GPUUnit", {"gpu": -1}, "spec.gpu"),
        ("GPUUnit", {"specName": ""}, "spec.specName"),
        ("GPUUnit", {"cpu": "many"}, "spec.cpu"),
        ("GPUUnit", {"template": {"ports": [{"name": "a", "port": 0}]}}, "template.ports[0].port"),
        ("GPUUnit", {"template": {"envs": [{"name": "A"}, {"name": "A"}]}}, "template.envs[1]"),
        ("StockPool", {"replicas": -1}, "spec.replicas"),
        ("GPUStorage", {"size": "big"}, "spec.size"),
        ("GPUStorage", {"prepare": {"command": ["sh"]}}, "spec.prepare"),
        ("GPUStorage", {"prepare": {"fromImage": ""}}, "spec.prepare.fromImage"),
        ("Operation", {"type": "Other"}, "spec.type"),
        ("Operation", {"operationID": "o" * 129}, "spec.operationID"),
        ("Function", {"timeoutSeconds": 3571}, "spec.timeoutSeconds"),
        ("Function", {"maxWorkers": 1001}, "spec.maxWorkers"),
    ],
)
async def test_an_invalid_value_is_refused_with_its_path(
    resources: Resources, kind: str, spec: dict[str, Any], path: str
) -> None:
    with pytest.raises(ApiStatusError) as refusal:
        await resources.create(kind, **spec)
    assert refusal.value.status == 422
    assert path in str(refusal.value)


async def test_memory_that_is_not_a_quantity_is_accepted(resources: Resources) -> None:
    unit = await resources.create("GPUUnit", memory="lots")
    assert unit["spec"]["memory"] == "lots"


async def test_the_default_protocol_of_a_port_is_stored(resources: Resources) -> None:
    unit = await resources.create("GPUUnit", template={"ports": [{"name": "http", "port": 80}]})
    assert unit["spec"]["template"]["ports"] == [{"name": "http", "port": 80, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("kind", "max_length"),
    [("GPUUnit", 63), ("StockPool", 63), ("GPUStorage", 63), ("Function", 48)],
)
async def test_a_name_above_its_maximum_length_is_refused(
    resources: Resources, kind: str, max_length: int
) -> None:
    await resources.create(kind, "a" * max_length)
    with pytest.raises(
        ApiStatusError, match=rf"metadata\.name: .* at most {max_length} characters"
    ):
        await resources.create(kind, "a" * (max_length + 1))


@pytest.mark.parametrize("kind", ["GPUUnit", "StockPool", "GPUStorage", "Function"])
async def test_a_name_with_a_dot_is_refused(resources: Resources, kind: str) -> None:
    with pytest.raises(ApiStatusError, match=r"metadata\.name must be a DNS-1123 label"):
        await resources.create(kind, "a.b")


async def test_units_are_selected_by_the_fields_spec_name_and_phase(resources: Resources) -> None:
    await resources.create("GPUUnit", "small")
    await resources.create("GPUUnit", "large", specName="g8.8")
    await resources.report("GPUUnit", "large", phase="Ready")
    assert await resources.names("GPUUnit", "spec.specName=g1.1") == ["small"]
    assert await resources.names("GPUUnit", "status.phase=Ready") == ["large"]


async def test_operations_are_selected_by_the_field_type(resources: Resources) -> None:
    await resources.create("Operation", "one")
    await resources.create("Operation", "other", type="SeedStockUnits")
    assert await resources.names("Operation", "spec.type=SeedStockUnits") == ["other"]


async def test_the_preparation_of_a_storage_cannot_be_changed(resources: Resources) -> None:
    await resources.create("GPUStorage", prepare={"fromImage": "one"})
    with pytest.raises(ApiStatusError, match="prepare cannot be changed"):
        await resources.change("GPUStorage", prepare={"fromImage": "other"})
    with pytest.raises(ApiStatusError, match="prepare cannot be changed"):
        await resources.change("GPUStorage", prepare=None)


async def test_a_storage_with_a_preparation_can_grow(resources: Resources) -> None:
    await resources.create("GPUStorage", prepare={"fromImage": "one"})
    grown = await resources.change("GPUStorage", size="2Gi")
    assert grown["spec"]["size"] == "2Gi"


async def test_the_request_hash_of_an_operation_cannot_be_changed(resources: Resources) -> None:
    await resources.create("Operation", request={"name": "a"})
    with pytest.raises(ApiStatusError, match="requestHash cannot be changed"):
        await resources.change("Operation", requestHash="v1:other")


async def test_the_stock_and_the_request_of_an_operation_can_be_changed(
    resources: Resources,
) -> None:
    await resources.create("Operation", request={"deep": {"er": [1]}})
    changed = await resources.change("Operation", stock={"name": "s", "uid": "u"}, request=None)
    assert "request" not in changed["spec"]


async def test_a_function_with_several_workers_cannot_mount_a_storage(resources: Resources) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    await resources.create("Function", storageMounts=mounts)
    with pytest.raises(ApiStatusError, match="storageMounts require maxWorkers 1"):
        await resources.change("Function", maxWorkers=2)


async def test_a_pool_is_scaled_through_its_subresource(
    resources: Resources, admin: AdminClient
) -> None:
    await resources.create("StockPool")
    await resources.report("StockPool", selector="runtime.lokiwager.io/pool=a", replicas=1)
    scale = resources.path("StockPool", "a/scale")
    await admin.patch(scale, {"spec": {"replicas": 3}})
    body = await admin.get(scale)
    assert (body["spec"]["replicas"], body["status"]["replicas"]) == (3, 1)
    assert body["status"]["selector"] == "runtime.lokiwager.io/pool=a"


async def test_scaling_a_function_sets_its_minimum_workers(
    resources: Resources, admin: AdminClient
) -> None:
    await resources.create("Function", maxWorkers=4)
    await admin.patch(resources.path("Function", "a/scale"), {"spec": {"replicas": 2}})
    function = await admin.get(resources.path("Function", "a"))
    assert function["spec"]["minWorkers"] == 2


async def test_kubectl_get_shows_the_source_and_the_reason_of_a_unit(
    resources: Resources, admin: AdminClient, kubectl: AsKubectl, namespace: str
) -> None:
    await resources.create("GPUUnit", memory="16Gi")
    source = {"metadata": {"annotations": {SOURCE_STOCK_NAME_ANNOTATION: "stock-7"}}}
    await admin.patch(resources.path("GPUUnit", "a"), source)
    not_ready = {"type": "Ready", "status": "False", "reason": "PodUnschedulable", "message": ""}
    await resources.report(
        "GPUUnit", conditions=[{**not_ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    )
    output = await kubectl("get", "gpuruntime", "-n", namespace, "-o", "wide")
    assert {"g1.1", "PodUnschedulable", "16Gi", "stock-7"} <= set(output.split())


async def test_kubectl_explains_a_field(resources: Resources, kubectl: AsKubectl) -> None:
    explained = await eventually(
        lambda: kubectl("explain", "gu.spec.memory"), tolerate=ClusterError
    )
    assert "The memory request and limit." in explained
