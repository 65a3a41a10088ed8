"""The files of a storage are browsed where the volume is."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from controller.gpustorage.resources.accessor import DATA, PORT, SERVER
from hack.cluster.ports import HOST
from tests.runner.ports import new_port
from tests.support.builders.gpu_storages import (
    a_storage,
    change,
    create,
    simulated,
    storage,
    storage_with,
)
from tests.support.builders.simulated_units import a_users_unit
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site
from tests.support.http import get
from tests.support.wait.eventually import eventually

ON = {"enabled": True}


def accessor_of(found: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = found.get("status", {}).get("accessor", {})
    return status


async def browsed(site: Site, name: str, phase: str = "Ready") -> dict[str, Any]:
    return await eventually(
        lambda: storage(site, name), lambda found: accessor_of(found).get("phase") == phase
    )


async def accessor_pods(site: Site) -> list[dict[str, Any]]:
    return await site.list("pods", labelSelector="app.kubernetes.io/name=gpu-storage-accessor")


async def browsed_on(site: Site, node: str) -> None:
    """Wait until the accessor is on that node only; it may have begun on another."""
    await eventually(
        lambda: accessor_pods(site),
        lambda pods: [pod["spec"].get("nodeName") for pod in pods] == [node],
    )


async def test_an_accessor_is_made_and_its_address_told(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data", accessor=ON))
        found = await browsed(site, "data")
        (pod,) = await accessor_pods(site)
        policy = await site.admin.get(site.path("networkpolicies", "accessor-data"))
        service = await site.admin.get(site.path("services", "accessor-data"))

    where = site.namespaces.instance
    assert accessor_of(found)["serviceName"] == "accessor-data"
    assert accessor_of(found)["accessURL"] == (
        f"http://accessor-data.{where}.svc.cluster.local:8080"
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


async def test_an_accessor_that_is_switched_off_is_removed(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data", accessor=ON))
        await browsed(site, "data")
        await change(site, "data", accessor={"enabled": False})
        found = await browsed(site, "data", "Disabled")
        for kind in ("deployments", "services", "networkpolicies"):
            await site.gone(kind, "accessor-data")

    assert accessor_of(found) == {"phase": "Disabled"}


async def test_nothing_is_browsed_before_it_is_filled(site: Site) -> None:
    async with controlled(site):
        await create(site, simulated("data", run_for="1h", accessor=ON))
        await browsed(site, "data", "Pending")
        assert await site.list("services") == []


async def test_browsing_does_not_choose_the_place_of_a_volume(site: Site) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    async with controlled(site):
        await create(site, a_storage("data", storageClassName="sim-wait", accessor=ON))
        await storage_with(site, "data", "StorageReady")
        await browsed(site, "data", "Pending")
        await site.create("gpuunits", a_users_unit("mine", storageMounts=mounts))
        unit = await site.unit_with("mine", "UnitReady")
        await browsed(site, "data")
        await browsed_on(site, unit["status"]["nodeName"])


async def test_an_accessor_moves_to_the_node_of_the_unit(site: Site) -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    async with controlled(site):
        await create(site, a_storage("data", accessor=ON))
        await browsed(site, "data")
        (before,) = await accessor_pods(site)
        nodes = await site.admin.get("/api/v1/nodes")
        others = [
            node["metadata"]["name"]
            for node in nodes["items"]
            if node["metadata"]["name"] != before["spec"]["nodeName"]
        ]
        selector = {"kubernetes.io/hostname": others[0]}
        unit = a_users_unit("mine", storageMounts=mounts, nodeSelector=selector)
        await site.create("gpuunits", unit)
        await site.unit_with("mine", "UnitReady")
        await browsed_on(site, others[0])


async def test_a_storage_that_is_browsed_can_be_deleted(site: Site) -> None:
    async with controlled(site):
        await create(site, a_storage("data", accessor=ON))
        await browsed(site, "data")
        await site.admin.delete(site.path("gpustorages", "data"))
        await site.gone("gpustorages", "data")
        await site.gone("persistentvolumeclaims", "data")


async def test_an_accessor_that_was_changed_by_hand_is_put_back(site: Site) -> None:
    path = site.path("deployments", "accessor-data")
    async with controlled(site):
        await create(site, a_storage("data", accessor=ON))
        await browsed(site, "data")
        await site.admin.patch(path, {"spec": {"replicas": 3}})
        await eventually(lambda: site.admin.get(path), lambda found: found["spec"]["replicas"] == 1)


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[str]:
    """The address of the accessor's own program, here instead of in a pod."""
    port = new_port()
    here = {"python": sys.executable, str(PORT): str(port), DATA: str(folder)}
    command = [here.get(word, word) for word in SERVER]
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


async def test_files_and_folders_are_shown_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "weights.txt").write_text("0.5")
    async with served(tmp_path) as url, aiohttp.ClientSession() as session:
        assert "models/" in (await get.get(url))[1]
        assert await get.get(f"{url}/models/weights.txt") == (200, "0.5")
        assert (await get.get(f"{url}/none"))[0] == 404
        for method in ("PUT", "POST", "DELETE", "PATCH"):
            place = f"{url}/models/weights.txt"
            async with session.request(method, place, data=b"1") as answer:
                assert answer.status == 501, method
    assert (tmp_path / "models" / "weights.txt").read_text() == "0.5"
