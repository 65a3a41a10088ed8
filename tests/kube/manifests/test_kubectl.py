"""The use of our custom resources with kubectl: output and changes."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from hack.cluster.control_plane import ControlPlane
from hack.cluster.errors import ClusterError
from tests.support.builders.gpu_storages import (
    create_storage,
    finish_prepare,
    get_storage,
    storage_manifest,
)
from tests.support.builders.pods import PAUSED
from tests.support.builders.samples import SAMPLE_PATHS, load_sample
from tests.support.builders.simulated_units import (
    PORTS,
    patch_unit,
    simulated_unit_manifest,
    user_unit_manifest,
)
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    ready_condition,
    unit_manifest,
)
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.wait.eventually import eventually

AsKubectl = Callable[..., Awaitable[str]]


@pytest.fixture
def kubectl(
    installed_control_plane: ControlPlane, installation: IsolatedInstallation, tmp_path: Path
) -> AsKubectl:
    """Return kubectl in the namespace of users' units, without an earlier discovery cache."""
    program = admin_kubectl(installed_control_plane)
    return partial(program.run, f"--cache-dir={tmp_path}", "-n", installation.namespaces.instance)


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


async def test_kubectl_get_shows_the_printer_columns_of_units(
    installation: IsolatedInstallation, kubectl: AsKubectl
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("good", template=PORTS))
        await installation.create("gpuunits", user_unit_manifest("bad", memory="lots"))
        good = await installation.wait_unit_reason("good", "UnitReady")
        await installation.wait_unit_reason("bad", "InvalidSpec")
        rows = table(await kubectl("get", "gpuunits"))
        wide = table(await kubectl("get", "gu", "good", "-o", "wide"))

    address, node = good["status"]["accessURL"], good["status"]["nodeName"]
    assert rows[0] == ["NAME", "SPEC", "PHASE", "REASON", "ACCESS", "AGE"]
    assert rows[1][:4] == ["bad", "g1.1", "Failed", "InvalidSpec"]
    assert rows[2][:5] == ["good", "g1.1", "Ready", "UnitReady", address]
    columns = ["SPEC", "PHASE", "REASON", "ACCESS", "GPU", "MEMORY", "NODE", "SOURCE", "AGE"]
    assert wide[0] == ["NAME", *columns]
    assert wide[1][4:8] == [address, "1", "1Gi", node]


async def test_kubectl_get_by_category_shows_all_product_objects(
    installation: IsolatedInstallation, kubectl: AsKubectl
) -> None:
    await installation.create("gpuunits", user_unit_manifest("mine"))
    await create_storage(installation, storage_manifest("models"))
    output = await kubectl("get", "gpuruntime", "-o", "name")

    group = "runtime.lokiwager.io"
    assert sorted(output.split()) == [f"gpustorage.{group}/models", f"gpuunit.{group}/mine"]


async def test_kubectl_wait_ends_after_the_rollout_of_a_change(
    installation: IsolatedInstallation, kubectl: AsKubectl
) -> None:
    wait = ("wait", "--for=condition=Ready", "gpuunit/mine", "--timeout=120s")
    async with run_controller(installation):
        await installation.create("gpuunits", simulated_unit_manifest("mine", "slow", delay="1s"))
        await kubectl(*wait)
        first = await installation.get_unit("mine")
        await patch_unit(installation, "mine", image="example/image:2")
        await kubectl(*wait)
        second = await installation.get_unit("mine")

    assert [unit["status"]["observedGeneration"] for unit in (first, second)] == [1, 2]
    assert ready_condition(second)["status"] == "True"


async def test_kubectl_wait_for_an_invalid_unit_times_out(
    installation: IsolatedInstallation, kubectl: AsKubectl
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", memory="lots"))
        await installation.wait_unit_reason("mine", "InvalidSpec")
        with pytest.raises(ClusterError, match="timed out waiting for the condition"):
            await kubectl("wait", "--for=condition=Ready", "gpuunit/mine", "--timeout=1s")
        failed = await kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "gpuunit/mine")

    assert "condition met" in failed


async def test_kubectl_selects_units_by_phase_and_spec_name(
    installation: IsolatedInstallation, kubectl: AsKubectl
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("good"))
        await installation.create(
            "gpuunits", user_unit_manifest("bad", memory="lots", specName="g8.8")
        )
        await installation.wait_unit_reason("good", "UnitReady")
        await installation.wait_unit_reason("bad", "InvalidSpec")
        outputs = [
            await kubectl("get", "gpuunits", "-o", "name", f"--field-selector={selector}")
            for selector in ("status.phase=Ready", "status.phase=Failed", "spec.specName=g8.8")
        ]

    names = ["good", "bad", "bad"]
    assert [output.strip() for output in outputs] == [
        f"gpuunit.runtime.lokiwager.io/{n}" for n in names
    ]


async def test_kubectl_get_shows_no_url_for_stock_units(
    installation: IsolatedInstallation, kubectl: AsKubectl
) -> None:
    stock = installation.namespaces.stock
    async with run_controller(installation):
        await installation.create("gpuunits", unit_manifest("warm"), namespace=stock)
        await installation.wait_unit_reason("warm", "StockReady", namespace=stock)
        rows = table(await kubectl("get", "gpuunits", "-n", stock))

    assert rows[1][:4] == ["warm", "g1.1", "Ready", "StockReady"]
    assert not any("://" in cell for cell in rows[1])


async def test_kubectl_explain_describes_the_template(kubectl: AsKubectl) -> None:
    explained = await eventually(
        lambda: kubectl("explain", "gpuunit.spec.template"), tolerate=ClusterError
    )

    assert "The command, environment and ports of the unit." in explained
    assert {"command", "args", "envs", "ports"} <= set(explained.split())


@pytest.mark.parametrize("path", SAMPLE_PATHS, ids=lambda path: path.stem)
async def test_a_shipped_sample_is_accepted_by_the_server(
    installed_control_plane: ControlPlane, path: Path, tmp_path: Path
) -> None:
    output = await admin_kubectl(installed_control_plane).run(
        "apply", f"--cache-dir={tmp_path}", "--dry-run=server", "-f", str(path)
    )

    assert "created (server dry run)" in output


async def test_the_units_and_storages_of_the_samples_become_ready(
    installation: IsolatedInstallation, kubectl: AsKubectl, tmp_path: Path
) -> None:
    async with run_controller(installation):
        for path in SAMPLE_PATHS:
            body = load_sample(path, installation)
            if body["kind"] == "GPUStorage":
                body["metadata"]["labels"]["sim.local/run-for"] = PAUSED
            copy = tmp_path / path.name
            copy.write_text(yaml.safe_dump(body))
            await kubectl("apply", "-n", body["metadata"]["namespace"], "-f", str(copy))
        await installation.wait_unit_reason("notebook", "StorageNotReady")
        await finish_prepare(installation, "datasets")
        unit = await installation.wait_unit_reason("notebook", "UnitReady")
        await kubectl("label", "gpustorage", "datasets", "sim.local/mode-")
        storage = await eventually(
            lambda: get_storage(installation, "datasets"),
            lambda found: found["status"].get("accessor", {}).get("phase") == "Ready",
        )
        rows = table(await kubectl("get", "gpustorages"))

    assert unit["status"]["accessURL"].endswith(":8888")
    assert storage["status"]["accessor"]["accessURL"].endswith(":8080")
    assert rows[0] == ["NAME", "SIZE", "CAPACITY", "PHASE", "MOUNTED", "BY", "AGE"]
    assert rows[1][:5] == ["datasets", "10Gi", "10Gi", "Ready", "notebook"]
