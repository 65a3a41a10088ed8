"""Our own processes on the test run's control plane, with their accounts and generated roles."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from hack.cluster.admin_client import Admin, RefusedError
from hack.cluster.control_plane import ControlPlane
from hack.cluster.ports import HOST
from hack.cluster.process import Process
from hack.cluster.readiness import answers, until
from hack.generate.crd_resources import RESOURCES
from hack.local import product_processes, up
from hack.local.account_kubeconfigs import write_identity
from hack.local.kubectl import Kubectl
from shared.v1alpha1.group import GROUP, VERSION
from tests.runner.ports import new_port
from tests.support.cluster.isolated_installation import install_roles
from tests.support.wait.eventually import eventually


async def install(plane: ControlPlane) -> None:
    """Apply the manifests that `make up` applies, and write the accounts' kubeconfigs."""
    kubectl = admin_kubectl(plane)
    await up.install(kubectl)
    await known_kinds(plane.admin)
    await install_roles(plane.admin)
    for program in product_processes.PROGRAMS:
        await write_identity(kubectl, program.name, plane.layout.home)


async def known_kinds(admin: Admin) -> None:
    """Wait until our kinds can be found, listed and watched: a definition is only the beginning."""
    plurals = {each.plural for each in RESOURCES}
    root = f"/apis/{GROUP}/{VERSION}"

    async def found() -> set[str]:
        return {each["name"] for each in (await admin.get(root))["resources"]}

    await eventually(found, plurals.issubset, tolerate=RefusedError)
    for plural in plurals:
        await eventually(partial(admin.get, f"{root}/{plural}"), tolerate=RefusedError)


def admin_kubectl(plane: ControlPlane) -> Kubectl:
    return Kubectl(plane.layout.programs["kubectl"], plane.layout.admin_kubeconfig)


class Running:
    """One of our processes and where it answers."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self.url = url


@asynccontextmanager
async def running(
    program: product_processes.Program, home: Path, changes: Mapping[str, Any]
) -> AsyncIterator[Running]:
    """`program` with `changes` to its local configuration, ready, for the length of the block."""
    port = new_port()
    process = product_processes.process(home, program, {**addresses(program, port), **changes})
    process.start()
    try:
        product = Running(process, f"http://{HOST}:{port}")
        await until(lambda: answers(f"{product.url}/readyz"), process)
        yield product
    finally:
        await process.stop()


def addresses(program: product_processes.Program, port: int) -> dict[str, str]:
    address = f"{HOST}:{port}"
    if program is product_processes.RUNTIME_API:
        return {"httpAddr": address}
    return {"probeAddr": address, "metricsAddr": address}
