"""Fixtures of all test tiers: the control plane of the test run and a namespace for each test."""

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
from tests.support.builders.note_resource import install_note_crd
from tests.support.cluster import product_processes
from tests.support.cluster.control_plane import new_control_plane
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    delete_workloads,
    new_isolated_installation,
)
from tests.support.wait.eventually import eventually

pytest_plugins = ("tests.runner.plugin",)

# No deadline: a slow machine does not refute a property. Derandomized: the same code has the same
# outcome in every run.
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")


@pytest.fixture(scope="session")
def run_dir(pytestconfig: pytest.Config) -> Path:
    """Return the folder of this test process; the run removes it and ends its processes."""
    return pytestconfig.stash[WORKER_DIR]


@pytest.fixture(scope="session")
def control_plane(run_dir: Path) -> Iterator[ControlPlane]:
    """Start a real control plane with four simulated GPU nodes, once per test run."""
    plane = new_control_plane(run_dir / "cluster")
    try:
        asyncio.run(plane.start(Fleet()))
        yield plane
    finally:
        asyncio.run(plane.stop())


@pytest.fixture(scope="session")
def installed_control_plane(control_plane: ControlPlane) -> ControlPlane:
    """Install our manifests and accounts in the control plane, and return the control plane."""
    asyncio.run(product_processes.install_product(control_plane))
    return control_plane


@pytest.fixture
async def installation(
    installed_control_plane: ControlPlane,
) -> AsyncIterator[IsolatedInstallation]:
    """Create the namespaces of one installation of the product, with the roles of its accounts."""
    async with new_isolated_installation(installed_control_plane) as isolated:
        yield isolated


@pytest.fixture(scope="session")
def notes_admin(control_plane: ControlPlane) -> AdminClient:
    """Return an administrator of a cluster that has the custom resource of the tests."""
    asyncio.run(install_note_crd(control_plane.admin))
    return control_plane.admin


@pytest.fixture
def unused_tcp_port() -> int:
    """Return a free port to listen on; no outgoing connection uses it."""
    return new_port()


@pytest.fixture
def unused_tcp_port_factory() -> Callable[[], int]:
    """Return a function that returns free ports to listen on."""
    return new_port


@pytest.fixture
def admin(control_plane: ControlPlane) -> AdminClient:
    """Return a client that has all rights in the cluster."""
    return control_plane.admin


@pytest.fixture
async def namespace(admin: AdminClient) -> AsyncIterator[str]:
    """Create a new namespace in which pods can be created."""
    name = f"test-{secrets.token_hex(4)}"
    async with admin.keep_alive():
        await admin.create("/api/v1/namespaces", {"metadata": {"name": name}})
        # The cluster creates these objects a moment after the namespace, and tests count what they
        # find.
        for created in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            path = f"/api/v1/namespaces/{name}/{created}"
            await eventually(partial(admin.get, path), tolerate=ApiStatusError)
        yield name
        await delete_workloads(admin, name)
