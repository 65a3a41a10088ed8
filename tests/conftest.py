"""Fixtures of all tiers: the control plane of the run and a namespace for a test."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hack.cluster.admin_client import Admin, RefusedError
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nodes import Fleet
from tests.runner.ports import new_port
from tests.runner.run_environment import WORKER_FOLDER
from tests.support.builders.note_resource import install as install_notes
from tests.support.cluster import product_processes
from tests.support.cluster.control_plane import new_control_plane
from tests.support.cluster.isolated_installation import Site, end_workloads, new_site
from tests.support.wait.eventually import eventually

pytest_plugins = ("tests.runner.plugin",)

# A slow machine refutes no property, and the same code has the same outcome every time.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    """A folder for processes of this test run, removed with them."""
    return pytestconfig.stash[WORKER_FOLDER]


@pytest.fixture(scope="session")
def control_plane(run_folder: Path) -> Iterator[ControlPlane]:
    """A real control plane with four simulated GPU nodes, one for the whole run."""
    plane = new_control_plane(run_folder / "cluster")
    try:
        asyncio.run(plane.start(Fleet()))
        yield plane
    finally:
        asyncio.run(plane.stop())


@pytest.fixture(scope="session")
def installed(control_plane: ControlPlane) -> ControlPlane:
    """The control plane with our manifests applied and our accounts' kubeconfigs written."""
    asyncio.run(product_processes.install(control_plane))
    return control_plane


@pytest.fixture
async def site(installed: ControlPlane) -> AsyncIterator[Site]:
    """Namespaces for one installation of the product, with the roles of its accounts."""
    async with new_site(installed) as made:
        yield made


@pytest.fixture(scope="session")
def notes(control_plane: ControlPlane) -> Admin:
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
def admin(control_plane: ControlPlane) -> Admin:
    """May do everything in the cluster."""
    return control_plane.admin


@pytest.fixture
async def namespace(admin: Admin) -> AsyncIterator[str]:
    """A fresh namespace in which pods can be made."""
    name = f"test-{secrets.token_hex(4)}"
    async with admin.connected():
        await admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
        # What the cluster itself puts there comes a moment later, and tests count what they find.
        for given in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            path = f"/api/v1/namespaces/{name}/{given}"
            await eventually(partial(admin.get, path), tolerate=RefusedError)
        yield name
        await end_workloads(admin, name)
