"""File access to a storage through its accessor, on the node of the volume."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from controller.gpustorage.resources.accessor import ACCESSOR_PORT, DATA_DIR, SERVER_COMMAND
from hack.cluster.ports import HOST
from tests.runner.ports import new_port
from tests.support.builders.gpu_storages import (
    create_storage,
    get_storage,
    patch_storage,
    simulated_prepare_storage,
    storage_manifest,
    wait_storage_reason,
)
from tests.support.builders.simulated_units import user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.http import get
from tests.support.wait.eventually import eventually

ENABLED = {"enabled": True}


def accessor_of(storage: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = storage.get("status", {}).get("accessor", {})
    return status


async def wait_accessor(
    site: IsolatedInstallation, name: str, phase: str = "Ready"
) -> dict[str, Any]:
    return await eventually(
        lambda: get_storage(site, name), lambda storage: accessor_of(storage).get("phase") == phase
    )


async def accessor_pods(site: IsolatedInstallation) -> list[dict[str, Any]]:
    return await site.list("pods", labelSelector="app.kubernetes.io/name=gpu-storage-accessor")


async def wait_accessor_on(site: IsolatedInstallation, node: str) -> None:
    """Wait until the accessor is on that node only; it may have started on another."""
    await eventually(
        lambda: accessor_pods(site),
        lambda pods: [pod["spec"].get("nodeName") for pod in pods] == [node],
    )


async def test_an_accessor_is_created_and_its_url_reported(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data", accessor=ENABLED))
        storage = await wait_accessor(installation, "data")
        (pod,) = await accessor_pods(installation)
        policy = await installation.admin.get(installation.path("networkpolicies", "accessor-data"))
        service = await installation.admin.get(installation.path("services", "accessor-data"))

    namespace = installation.namespaces.instance
    assert accessor_of(storage)["serviceName"] == "accessor-data"
    assert accessor_of(storage)["accessURL"] == (
        f"http://accessor-data.{namespace}.svc.cluster.local:8080"
    )
    (container,) = pod["spec"]["containers"]
    assert [mount["readOnly"] for mount in container["volumeMounts"]] == [True]
    assert pod["spec"]["volumes"][0]["persistentVolumeClaim"] == {
        "claimName": "data",
        "readOnly": True,
    }
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert [port["port"] for port in service["spec"]["ports"]] == [8080]
    assert policy["spec"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8080}]}]
    (egress,) = policy["spec"]["egress"]
    assert {port["port"] for port in egress["ports"]} == {53}


async def test_a_disabled_accessor_is_deleted(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data", accessor=ENABLED))
        await wait_accessor(installation, "data")
        await patch_storage(installation, "data", accessor={"enabled": False})
        storage = await wait_accessor(installation, "data", "Disabled")
        for kind in ("deployments", "services", "networkpolicies"):
            await installation.wait_gone(kind, "accessor-data")

    assert accessor_of(storage) == {"phase": "Disabled"}


async def test_an_accessor_starts_only_after_the_prepare(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(
            installation, simulated_prepare_storage("data", run_for="1h", accessor=ENABLED)
        )
        await wait_accessor(installation, "data", "Pending")
        assert await installation.list("services") == []


async def test_an_accessor_does_not_bind_an_unbound_volume(
    installation: IsolatedInstallation,
) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    async with run_controller(installation):
        await create_storage(
            installation, storage_manifest("data", storageClassName="sim-wait", accessor=ENABLED)
        )
        await wait_storage_reason(installation, "data", "StorageReady")
        await wait_accessor(installation, "data", "Pending")
        await installation.create("gpuunits", user_unit_manifest("mine", storageMounts=mounts))
        unit = await installation.wait_unit_reason("mine", "UnitReady")
        await wait_accessor(installation, "data")
        await wait_accessor_on(installation, unit["status"]["nodeName"])


async def test_an_accessor_moves_to_the_node_of_the_unit(
    installation: IsolatedInstallation,
) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data", accessor=ENABLED))
        await wait_accessor(installation, "data")
        (before,) = await accessor_pods(installation)
        nodes = await installation.admin.get("/api/v1/nodes")
        others = [
            node["metadata"]["name"]
            for node in nodes["items"]
            if node["metadata"]["name"] != before["spec"]["nodeName"]
        ]
        selector = {"kubernetes.io/hostname": others[0]}
        unit = user_unit_manifest("mine", storageMounts=mounts, nodeSelector=selector)
        await installation.create("gpuunits", unit)
        await installation.wait_unit_reason("mine", "UnitReady")
        await wait_accessor_on(installation, others[0])


async def test_a_storage_with_an_accessor_can_be_deleted(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data", accessor=ENABLED))
        await wait_accessor(installation, "data")
        await installation.admin.delete(installation.path("gpustorages", "data"))
        await installation.wait_gone("gpustorages", "data")
        await installation.wait_gone("persistentvolumeclaims", "data")


async def test_a_changed_accessor_is_restored(
    installation: IsolatedInstallation,
) -> None:
    path = installation.path("deployments", "accessor-data")
    async with run_controller(installation):
        await create_storage(installation, storage_manifest("data", accessor=ENABLED))
        await wait_accessor(installation, "data")
        await installation.admin.patch(path, {"spec": {"replicas": 3}})
        await eventually(
            lambda: installation.admin.get(path),
            lambda deployment: deployment["spec"]["replicas"] == 1,
        )


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[str]:
    """Run the accessor's own program here instead of in a pod; yield its address."""
    port = new_port()
    replacements = {"python": sys.executable, str(ACCESSOR_PORT): str(port), DATA_DIR: str(folder)}
    command = [replacements.get(word, word) for word in SERVER_COMMAND]
    nowhere = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, "--bind", HOST, stdout=nowhere, stderr=nowhere
    )
    url = f"http://{HOST}:{port}"
    try:
        await eventually(lambda: get.get(url), tolerate=aiohttp.ClientError)
        yield url
    finally:
        process.terminate()
        await process.wait()


async def test_an_accessor_shows_files_and_folders_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "weights.txt").write_text("0.5")
    async with served(tmp_path) as url, aiohttp.ClientSession() as session:
        assert "models/" in (await get.get(url))[1]
        assert await get.get(f"{url}/models/weights.txt") == (200, "0.5")
        assert (await get.get(f"{url}/none"))[0] == 404
        for method in ("PUT", "POST", "DELETE", "PATCH"):
            file_url = f"{url}/models/weights.txt"
            async with session.request(method, file_url, data=b"1") as response:
                assert response.status == 501, method
    assert (tmp_path / "models" / "weights.txt").read_text() == "0.5"
