"""Our own processes on the test run's control plane, with their accounts and generated roles."""

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hack.cluster.controlplane import ControlPlane
from hack.cluster.ports import HOST, free_port
from hack.cluster.process import Process
from hack.cluster.readiness import answers, until
from hack.local import ours, up
from hack.local.identities import write_identity
from hack.local.kubectl import Kubectl


async def install(plane: ControlPlane) -> None:
    """Apply the manifests that `make up` applies, and write the accounts' kubeconfigs."""
    kubectl = admin_kubectl(plane)
    await up.install(kubectl)
    for program in ours.PROGRAMS:
        await write_identity(kubectl, program.name, plane.layout.home)


def admin_kubectl(plane: ControlPlane) -> Kubectl:
    return Kubectl(plane.layout.programs["kubectl"], plane.layout.admin_kubeconfig)


class Running:
    """One of our processes and where it answers."""

    def __init__(self, process: Process, url: str) -> None:
        self.process = process
        self.url = url


@asynccontextmanager
async def running(
    program: ours.Program, home: Path, changes: Mapping[str, Any]
) -> AsyncIterator[Running]:
    """`program` with `changes` to its local configuration, ready, for the length of the block."""
    port = free_port(random.Random())
    process = ours.process(home, program, {**addresses(program, port), **changes})
    process.start()
    try:
        product = Running(process, f"http://{HOST}:{port}")
        await until(lambda: answers(f"{product.url}/readyz"), process)
        yield product
    finally:
        await process.stop()


def addresses(program: ours.Program, port: int) -> dict[str, str]:
    address = f"{HOST}:{port}"
    if program is ours.RUNTIME_API:
        return {"httpAddr": address}
    return {"probeAddr": address, "metricsAddr": address}
