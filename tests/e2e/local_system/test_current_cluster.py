"""`make up CLUSTER=current`: an installation on another operator's cluster, after confirmation."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hack.cluster.control_plane import ControlPlane
from hack.cluster.errors import ClusterError
from hack.local import postgres, result_store
from tests.support.cluster.local_system import LocalSystem
from tests.support.cluster.product_processes import admin_kubectl
from tests.support.http.get import get
from tests.support.wait.eventually import eventually

OURS = {
    "activator",
    "controller",
    "nats-server",
    "runtime-api",
    *(result_store.PROCESS_NAMES if postgres.find_postgres_dir() else ()),
}


@pytest.fixture
async def system(control_plane: ControlPlane, tmp_path: Path) -> AsyncIterator[LocalSystem]:
    """Prepare a user whose current context is the run's control plane, without our manifests."""
    kubectl = admin_kubectl(control_plane)
    await kubectl.run("delete", "clusterrole", "gpu-runtime:runtime-api", "--ignore-not-found")
    user = {"KUBECONFIG": str(control_plane.layout.admin_kubeconfig)}
    local = LocalSystem(tmp_path / "local", user)
    yield local
    await local.down()


async def test_make_up_with_consent_installs_and_runs_the_product_in_the_current_cluster(
    control_plane: ControlPlane, system: LocalSystem
) -> None:
    code, screen = await system.run_command("up", "--cluster", "current", stdin="y\n")
    assert code == 0, screen
    assert "Continue?" in screen
    assert system.running_pids().keys() == OURS
    _, health = await get(f"{system.environment()['BASE_URL']}/api/v1/health")
    assert health["data"]["nodeCount"] == 4
    await eventually(lambda: system.run_command("status"), lambda result: result[0] == 0)
    assert "kubectl delete -k" in await system.down()
    kubectl = admin_kubectl(control_plane)
    assert await kubectl.run("get", "clusterrole", "gpu-runtime:runtime-api")


async def test_make_up_without_consent_changes_nothing(
    control_plane: ControlPlane, system: LocalSystem
) -> None:
    code, screen = await system.run_command("up", "--cluster", "current", stdin="\n")
    assert (code, "nothing was changed" in screen) == (1, True)
    assert system.running_pids() == {}
    with pytest.raises(ClusterError, match="not found"):
        await admin_kubectl(control_plane).run("get", "clusterrole", "gpu-runtime:runtime-api")


async def test_make_up_with_another_cluster_kind_requires_make_down_first(
    system: LocalSystem,
) -> None:
    await system.run_command("up", "--cluster", "current", stdin="y\n")
    before = system.running_pids()
    code, screen = await system.run_command("up", "--cluster", "local")
    assert (code, "make down first" in screen) == (1, True)
    assert system.running_pids() == before


async def test_make_up_without_kind_says_what_to_install(tmp_path: Path) -> None:
    system = LocalSystem(tmp_path / "local", {"PATH": str(tmp_path)})
    code, screen = await system.run_command("up", "--cluster", "kind")
    assert (code, "CLUSTER=kind needs docker" in screen) == (1, True)
    await system.down()
