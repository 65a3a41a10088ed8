"""Fixtures of all tiers: the control plane of the run and a namespace for a test."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nodes import Fleet
from tests.runner.ports import new_port
from tests.runner.run_environment import WORKER_DIR
from tests.support.builders.note_resource import install_note_crd as install_notes
from tests.support.cluster import product_processes
from tests.support.cluster.control_plane import new_control_plane
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    delete_workloads,
    new_isolated_installation,
)
from tests.support.wait.eventually import eventually

pytest_plugins = ("tests.runner.plugin",)

# A slow machine refutes no property, and the same code has the same outcome every time.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def run_dir(pytestconfig: pytest.Config) -> Path:
    """A folder for processes of this test run, removed with them."""
    return pytestconfig.stash[WORKER_DIR]


@pytest.fixture(scope="session")
def control_plane(run_dir: Path) -> Iterator[ControlPlane]:
    """A real control plane with four simulated GPU nodes, one for the whole run."""
    plane = new_control_plane(run_dir / "cluster")
    try:
        asyncio.run(plane.start(Fleet()))
        yield plane
    finally:
        asyncio.run(plane.stop())


@pytest.fixture(scope="session")
def installed_control_plane(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with our manifests applied and our accounts' kubeconfigs written."""
    asyncio.run(product_processes.install_product(control_plane))
    return control_plane


@pytest.fixture
async def installation(
    installed_control_plane: ControlPlane,
) -> AsyncIterator[IsolatedInstallation]:
    """Namespaces for one installation of the product, with the roles of its accounts."""
    async with new_isolated_installation(installed_control_plane) as made:
        yield made


@pytest.fixture(scope="session")
def notes_admin(control_plane: ControlPlane) -> AdminClient:
    """The administrator of a cluster that knows the custom resource of the tests."""
    asyncio.run(install_notes(control_plane.admin))
    return control_plane.admin


@pytest.fixture
def unused_tcp_port() -> int:
    """A port to listen on; no outgoing connection is given it before a test does."""
    return new_port()


@pytest.fixture
def unused_tcp_port_factory() -> Callable[[], int]:
    """Makes several such ports."""
    return new_port


@pytest.fixture
def admin(control_plane: ControlPlane) -> AdminClient:
    """May do everything in the cluster."""
    return control_plane.admin


@pytest.fixture
async def namespace(admin: AdminClient) -> AsyncIterator[str]:
    """A fresh namespace in which pods can be made."""
    name = f"test-{secrets.token_hex(4)}"
    async with admin.keep_alive():
        await admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
        # What the cluster itself puts there comes a moment later, and tests count what they find.
        for given in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            path = f"/api/v1/namespaces/{name}/{given}"
            await eventually(partial(admin.get, path), tolerate=ApiStatusError)
        yield name
        await delete_workloads(admin, name)
