"""The product's processes on the test run's control plane, with their accounts and roles."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from hack.cluster.ports import HOST
from hack.cluster.process import Process
from hack.cluster.readiness import responds_ok, wait_until
from hack.generate.crd_resources import RESOURCES
from hack.local import product_processes, up
from hack.local.account_kubeconfigs import write_account_kubeconfig
from hack.local.command import Kubectl
from shared.v1alpha1.group import GROUP, VERSION
from tests.runner.ports import new_port
from tests.support.cluster.account_roles import install_roles
from tests.support.wait.eventually import eventually


async def install_product(plane: ControlPlane) -> None:
    """Apply the manifests that `make up` applies, and write the kubeconfigs of the accounts."""
    kubectl = admin_kubectl(plane)
    await up.install_manifests(kubectl)
    await wait_kinds_served(plane.admin)
    await install_roles(plane.admin)
    for program in product_processes.PRODUCT_PROGRAMS:
        await write_account_kubeconfig(kubectl, program.name, plane.layout.state_dir)


async def wait_kinds_served(admin: AdminClient) -> None:
    """Wait until our kinds are discovered and can be listed, which is after Established."""
    plurals = {resource.plural for resource in RESOURCES}
    root = f"/apis/{GROUP}/{VERSION}"

    async def served() -> set[str]:
        return {resource["name"] for resource in (await admin.get(root))["resources"]}

    await eventually(served, plurals.issubset, tolerate=ApiStatusError)
    for plural in plurals:
        await eventually(partial(admin.get, f"{root}/{plural}"), tolerate=ApiStatusError)


def admin_kubectl(plane: ControlPlane) -> Kubectl:
    return Kubectl(plane.layout.programs["kubectl"], plane.layout.admin_kubeconfig)


class ProductProcess:
    """One process of the product, and its URL."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self.url = url


@asynccontextmanager
async def run_product_process(
    program: product_processes.ProductProgram, state_dir: Path, overrides: Mapping[str, Any]
) -> AsyncIterator[ProductProcess]:
    """Run `program` with `overrides` of its local configuration, for the length of the block."""
    port = new_port()
    process = product_processes.product_process(
        state_dir, program, {**listen_settings(program, port), **overrides}
    )
    process.start()
    try:
        product = ProductProcess(process, f"http://{HOST}:{port}")
        await wait_until(lambda: responds_ok(f"{product.url}/readyz"), process)
        yield product
    finally:
        await process.stop()


def listen_settings(program: product_processes.ProductProgram, port: int) -> dict[str, str]:
    address = f"{HOST}:{port}"
    if program is product_processes.RUNTIME_API:
        return {"httpAddr": address}
    return {"probeAddr": address, "metricsAddr": address}
