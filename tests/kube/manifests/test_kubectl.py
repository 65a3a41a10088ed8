"""What a person sees and does with kubectl."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from hack.cluster.control_plane import ControlPlane
from hack.cluster.errors import ClusterError
from tests.support.builders.gpu_storages import a_storage, create, fill_at_last, storage
from tests.support.builders.paused_pods import HELD
from tests.support.builders.samples import SAMPLES, sample
from tests.support.builders.simulated_units import PORTS, a_users_unit, change, simulated
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, a_unit, ready_of
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.wait.eventually import eventually

AsKubectl = Callable[..., Awaitable[str]]


@pytest.fixture
def kubectl(installed: ControlPlane, site: Site, tmp_path: Path) -> AsKubectl:
    """What is typed, in the namespace of users' units, with nothing remembered from before."""
    program = admin_kubectl(installed)
    return partial(program.run, f"--cache-dir={tmp_path}", "-n", site.namespaces.instance)


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


async def test_units_are_shown_with_what_matters(site: Site, kubectl: AsKubectl) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("good", template=PORTS))
        await site.create("gpuunits", a_users_unit("bad", memory="lots"))
        good = await site.unit_with("good", "UnitReady")
        await site.unit_with("bad", "InvalidSpec")
        shown = table(await kubectl("get", "gpuunits"))
        wide = table(await kubectl("get", "gu", "good", "-o", "wide"))

    address, node = good["status"]["accessURL"], good["status"]["nodeName"]
    assert shown[0] == ["NAME", "SPEC", "PHASE", "REASON", "ACCESS", "AGE"]
    assert shown[1][:4] == ["bad", "g1.1", "Failed", "InvalidSpec"]
    assert shown[2][:5] == ["good", "g1.1", "Ready", "UnitReady", address]
    columns = ["SPEC", "PHASE", "REASON", "ACCESS", "GPU", "MEMORY", "NODE", "SOURCE", "AGE"]
    assert wide[0] == ["NAME", *columns]
    assert wide[1][4:8] == [address, "1", "1Gi", node]


async def test_everything_of_ours_is_shown_by_its_category(site: Site, kubectl: AsKubectl) -> None:
    await site.create("gpuunits", a_users_unit("mine"))
    await create(site, a_storage("models"))
    shown = await kubectl("get", "gpuruntime", "-o", "name")

    group = "runtime.lokiwager.io"
    assert sorted(shown.split()) == [f"gpustorage.{group}/models", f"gpuunit.{group}/mine"]


async def test_waiting_ends_when_the_change_runs(site: Site, kubectl: AsKubectl) -> None:
    wait = ("wait", "--for=condition=Ready", "gpuunit/mine", "--timeout=120s")
    async with controlled(site):
        await site.create("gpuunits", simulated("mine", "slow", delay="1s"))
        await kubectl(*wait)
        first = await site.unit("mine")
        await change(site, "mine", image="example/image:2")
        await kubectl(*wait)
        second = await site.unit("mine")

    assert [each["status"]["observedGeneration"] for each in (first, second)] == [1, 2]
    assert ready_of(second)["status"] == "True"


async def test_waiting_for_a_unit_that_cannot_run_fails(site: Site, kubectl: AsKubectl) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", memory="lots"))
        await site.unit_with("mine", "InvalidSpec")
        with pytest.raises(ClusterError, match="timed out waiting for the condition"):
            await kubectl("wait", "--for=condition=Ready", "gpuunit/mine", "--timeout=1s")
        failed = await kubectl("wait", "--for=jsonpath={.status.phase}=Failed", "gpuunit/mine")

    assert "condition met" in failed


async def test_units_are_found_by_phase_and_spec(site: Site, kubectl: AsKubectl) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("good"))
        await site.create("gpuunits", a_users_unit("bad", memory="lots", specName="g8.8"))
        await site.unit_with("good", "UnitReady")
        await site.unit_with("bad", "InvalidSpec")
        found = [
            await kubectl("get", "gpuunits", "-o", "name", f"--field-selector={selector}")
            for selector in ("status.phase=Ready", "status.phase=Failed", "spec.specName=g8.8")
        ]

    names = ["good", "bad", "bad"]
    assert [each.strip() for each in found] == [f"gpuunit.runtime.lokiwager.io/{n}" for n in names]


async def test_stock_shows_no_address(site: Site, kubectl: AsKubectl) -> None:
    stock = site.namespaces.stock
    async with controlled(site):
        await site.create("gpuunits", a_unit("warm"), namespace=stock)
        await site.unit_with("warm", "StockReady", namespace=stock)
        shown = table(await kubectl("get", "gpuunits", "-n", stock))

    assert shown[1][:4] == ["warm", "g1.1", "Ready", "StockReady"]
    assert not any("://" in cell for cell in shown[1])


async def test_a_template_is_explained(kubectl: AsKubectl) -> None:
    explained = await eventually(
        lambda: kubectl("explain", "gpuunit.spec.template"), tolerate=ClusterError
    )

    assert "What runs in the unit." in explained
    assert {"command", "args", "envs", "ports"} <= set(explained.split())


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
async def test_a_sample_is_accepted_as_it_is_shipped(
    installed: ControlPlane, path: Path, tmp_path: Path
) -> None:
    said = await admin_kubectl(installed).run(
        "apply", f"--cache-dir={tmp_path}", "--dry-run=server", "-f", str(path)
    )

    assert "created (server dry run)" in said


async def test_the_samples_run(site: Site, kubectl: AsKubectl, tmp_path: Path) -> None:
    async with controlled(site):
        for path in SAMPLES:
            body = sample(path, site)
            if body["kind"] == "GPUStorage":
                body["metadata"]["labels"]["sim.local/run-for"] = HELD
            copy = tmp_path / path.name
            copy.write_text(yaml.safe_dump(body))
            await kubectl("apply", "-n", body["metadata"]["namespace"], "-f", str(copy))
        await site.unit_with("notebook", "StorageNotReady")
        await fill_at_last(site, "datasets")
        unit = await site.unit_with("notebook", "UnitReady")
        await kubectl("label", "gpustorage", "datasets", "sim.local/mode-")
        browsed = await eventually(
            lambda: storage(site, "datasets"),
            lambda found: found["status"].get("accessor", {}).get("phase") == "Ready",
        )
        shown = table(await kubectl("get", "gpustorages"))

    assert unit["status"]["accessURL"].endswith(":8888")
    assert browsed["status"]["accessor"]["accessURL"].endswith(":8080")
    assert shown[0] == ["NAME", "SIZE", "CAPACITY", "PHASE", "MOUNTED", "BY", "AGE"]
    assert shown[1][:5] == ["datasets", "10Gi", "10Gi", "Ready", "notebook"]
