"""The life of a unit with real pods: our images, a real kubelet, real volumes."""

import json
from typing import Any

import pytest

from apiserver.http.paths import STOCK, STORAGES, UNITS
from tests.support.http.api_client import ApiClient
from tests.support.wait.eventually import eventually

pytestmark = pytest.mark.timeout(1800)

IMAGE = "registry.k8s.io/e2e-test-images/agnhost:2.47"
SERVER_TEMPLATE = {
    "args": ["netexec", "--http-port=8080"],
    "ports": [{"name": "web", "port": 8080}],
}
TIMEOUT_SECONDS = 300.0
SPEC = {"specName": "trial", "memory": "64Mi", "cpu": "50m"}


async def test_stock_becomes_a_unit_with_a_storage_and_both_are_deleted(
    deployed_cluster: Any,
) -> None:
    with deployed_cluster.port_forward("service/runtime-api", 8080, "-n", "runtime-system") as port:
        api = ApiClient(f"http://127.0.0.1:{port}")
        seed = {"operationID": "kind-seed", "replicas": 1, **SPEC}
        assert (await api.post(STOCK, seed)).status in (200, 202)
        storage = {"operationID": "kind-storage", "name": "files", "size": "64Mi"}
        assert (await api.post(STORAGES, storage)).status == 201
        await eventually(
            lambda: api.get(f"{STOCK}?phase=Ready"),
            lambda response: response.data,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        unit_body = {
            "operationID": "kind-unit",
            "name": "machine",
            "specName": SPEC["specName"],
            "image": IMAGE,
            "template": SERVER_TEMPLATE,
            "storageMounts": [{"name": "files", "mountPath": "/data"}],
        }
        assert (await api.post(UNITS, unit_body)).status == 201
        await eventually(
            lambda: api.get(f"{UNITS}/machine"),
            lambda response: response.data["phase"] == "Ready",
            timeout_seconds=TIMEOUT_SECONDS,
        )
        assert "/data" in mounts_in(deployed_cluster)
        await delete_and_wait(api, f"{UNITS}/machine")
        await delete_and_wait(api, f"{STORAGES}/files")


def mounts_in(cluster: Any) -> str:
    """Return the mounts that the user's own program sees."""
    mounts: str = cluster.kubectl(
        "exec", "-n", "runtime-instance", "deployment/unit-machine", "--", "cat", "/proc/mounts"
    )
    return mounts


async def delete_and_wait(api: ApiClient, path: str) -> None:
    await eventually(
        lambda: api.delete(path),
        lambda response: response.status == 404,
        timeout_seconds=TIMEOUT_SECONDS,
    )


def test_product_processes_run_as_an_unprivileged_user_on_a_read_only_root(
    deployed_cluster: Any,
) -> None:
    listed = deployed_cluster.kubectl("get", "pods", "-n", "runtime-system", "-o", "json")
    for pod in json.loads(listed)["items"]:
        for container in pod["spec"]["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"], pod["metadata"]["name"]
    uid = deployed_cluster.kubectl(
        "exec",
        "-n",
        "runtime-system",
        "deployment/runtime-api",
        "--",
        "python",
        "-c",
        "import os; print(os.getuid(), os.getpid())",
    )
    assert uid.split()[0] == "65532"


async def test_nats_passwords_are_created_in_the_cluster(deployed_cluster: Any) -> None:
    secret = deployed_cluster.kubectl(
        "get", "secret", "nats-users", "-n", "runtime-system", "-o", "json"
    )
    assert {"admin", "runtime-api", "worker-key"} <= set(json.loads(secret)["data"])
