"""Backup and restore as in the documentation: all of it is restored after a complete loss."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from hack.local.state_dir import ROOT
from shared.v1alpha1 import wellknown
from tests.runner.run_directory import with_run_mark
from tests.support.builders.gpu_storages import (
    assert_prepare_pods,
    get_storage,
    simulated_prepare_storage,
    storage_manifest,
    wait_storage_reason,
)
from tests.support.builders.simulated_units import user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.wait.eventually import eventually

MOUNT = [{"name": "data", "mountPath": "/data"}]
ADMITTED = {
    wellknown.ADMITTED_ANNOTATION: "gpu-0",
    wellknown.OPERATION_ID_ANNOTATION: "old-operation",
    wellknown.SOURCE_STOCK_NAME_ANNOTATION: "warm-9",
    wellknown.SOURCE_STOCK_NAMESPACE_ANNOTATION: "runtime-stock",
    wellknown.SOURCE_STOCK_UID_ANNOTATION: "uid-of-warm-9",
}
POOL = {"specName": "g1.1", "memory": "1Gi", "gpu": 0, "replicas": 2}
RETAINED = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
BACKED_UP_KINDS = ("gpuunits", "gpustorages", "functions")
FUNCTION = {"specName": "g1.1", "image": "local/echo", "maxWorkers": 4}


def documented_commands(mark: str, site: IsolatedInstallation) -> str:
    """Return the commands after a mark in the documentation, with the namespaces of the site."""
    text = (ROOT / "docs" / "operations.md").read_text()
    match = re.search(rf"<!-- tested: {mark} -->\n```sh\n(.*?)```", text, re.DOTALL)
    assert match is not None
    names = site.namespaces
    block = (
        match[1].replace("runtime-stock", names.stock).replace("runtime-instance", names.instance)
    )
    return "".join(line for line in block.splitlines(True) if "controller-manager" not in line)


@pytest.fixture
def shell(installed_control_plane: ControlPlane, tmp_path: Path) -> Any:
    """Return a shell of an administrator, in a new folder of the test."""
    (tmp_path / "kubectl").symlink_to(installed_control_plane.layout.programs["kubectl"])
    python = shutil.which("python3")
    assert python is not None
    environment = {
        "KUBECONFIG": str(installed_control_plane.layout.admin_kubeconfig),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
    }

    def run(commands: str) -> str:
        process = subprocess.run(
            ("/bin/sh", "-euc", commands),
            cwd=tmp_path,
            env=with_run_mark(environment),
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout

    return run


async def create_objects(site: IsolatedInstallation) -> None:
    """Create a prepared storage that a unit has mounted, a stock-based unit, a pool and a
    function.
    """
    await site.create("gpustorages", simulated_prepare_storage("data"))
    await site.create("gpuunits", user_unit_manifest("plain", storageMounts=MOUNT))
    claimed = user_unit_manifest("claimed")
    claimed["metadata"]["annotations"] = ADMITTED
    await site.create("gpuunits", claimed)
    pool = {**unit_manifest("warm"), "kind": "StockPool", "spec": POOL}
    await site.create("stockpools", pool, namespace=site.namespaces.stock)
    await site.create("functions", {**unit_manifest("echo"), "kind": "Function", "spec": FUNCTION})


async def wait_all_ready(site: IsolatedInstallation) -> None:
    for name in ("plain", "claimed"):
        await site.wait_unit_reason(name, "UnitReady")

    async def available() -> int:
        (pool,) = await site.list("stockpools", namespace=site.namespaces.stock)
        count: int = pool.get("status", {}).get("available", 0)
        return count

    await eventually(available, lambda count: count == 2)


async def delete_everything(site: IsolatedInstallation) -> None:
    """Delete everything, as a deletion of the CRDs would do.

    Finalizers are removed, and children are deleted with their owners.
    """
    stock = site.namespaces.stock
    for kind, where in (
        ("gpuunits", stock),
        ("stockpools", stock),
        *((k, "") for k in BACKED_UP_KINDS),
    ):
        for item in await site.list(kind, namespace=where):
            path = site.path(kind, item["metadata"]["name"], namespace=where)
            await site.admin.patch(path, {"metadata": {"finalizers": None}})
            await site.admin.delete(path)
    await site.wait_gone("persistentvolumeclaims", "data")
    for name in ("plain", "claimed"):
        await site.wait_gone("deployments", f"unit-{name}")


def uid_of(subject: Mapping[str, Any]) -> str:
    return str(subject["metadata"]["uid"])


async def volume_of(site: IsolatedInstallation) -> str:
    claim = await site.admin.get(site.path("persistentvolumeclaims", "data"))
    return str(claim["spec"]["volumeName"])


async def test_all_backed_up_objects_are_restored(
    installation: IsolatedInstallation, shell: Any
) -> None:
    async with run_controller(installation):
        await create_objects(installation)
        await wait_all_ready(installation)
    prepared, volume = (
        (await get_storage(installation, "data"))["status"]["prepare"],
        await volume_of(installation),
    )
    await installation.admin.patch(f"/api/v1/persistentvolumes/{volume}", RETAINED)
    shell(documented_commands("backup", installation))
    await delete_everything(installation)
    output = shell(documented_commands("restore", installation))
    async with run_controller(installation):
        await wait_all_ready(installation)
        mounted = await eventually(
            lambda: get_storage(installation, "data"),
            lambda found: found["status"].get("mountedBy"),
        )
        events = await installation.list("events")
        claimed = await installation.get_unit("claimed")
        (function,) = await installation.list("functions")

    assert output.endswith("restored 5 objects\n")
    assert await volume_of(installation) == volume, "the volume is the old one"
    assert mounted["status"]["prepare"] == prepared
    assert "Prepared" in {event["reason"] for event in events}, "it was prepared once"
    regarding = [event for event in events if event["regarding"]["uid"] == uid_of(mounted)]
    reasons = {event["reason"] for event in regarding}
    assert "Prepared" not in reasons, "it was not prepared again"
    assert mounted["status"]["mountedBy"] == "plain"
    assert claimed["metadata"]["annotations"].items() >= ADMITTED.items()
    assert function["spec"].items() >= FUNCTION.items()


async def test_a_restore_creates_only_missing_objects_and_can_be_repeated(
    installation: IsolatedInstallation, shell: Any
) -> None:
    async with run_controller(installation):
        await installation.create("gpustorages", simulated_prepare_storage("data"))
        await wait_storage_reason(installation, "data", "StorageReady")
        await installation.create("gpustorages", storage_manifest("other"))
        other = await wait_storage_reason(installation, "other", "StorageReady")
    volume = await volume_of(installation)
    await installation.admin.patch(f"/api/v1/persistentvolumes/{volume}", RETAINED)
    shell(documented_commands("backup", installation))
    await installation.admin.delete(installation.path("gpustorages", "data"))
    await installation.wait_gone("persistentvolumeclaims", "data")
    first = shell(documented_commands("restore", installation))
    second = shell(documented_commands("restore", installation))
    async with run_controller(installation):
        restored = await wait_storage_reason(installation, "data", "StorageReady")

    assert (first, second) == ("restored 1 objects\n", "restored 0 objects\n")
    assert await volume_of(installation) == volume, "the volume is the old one"
    assert restored["status"]["prepare"]["phase"] == "Succeeded"
    assert uid_of(await get_storage(installation, "other")) == uid_of(other)
    await assert_prepare_pods(installation, "data", 1)
