"""The pods of the local system that have processes, and the function that uses them."""

import sys
from pathlib import Path
from typing import Final

from hack.cluster.process import Command, Process
from hack.cluster.readiness import ensure
from hack.local import product_processes
from hack.local.kubectl import Kubectl
from hack.local.state_dir import ROOT

NAME: Final = "pod-runner"
PACKAGES: Final = ("controller", "hack", "shared")
SAMPLES: Final = ("function-stock.yaml", "function.yaml")


async def start(home: Path, kubectl: Kubectl) -> Process:
    """Start the runner, and install the echo function with stock for its workers."""
    process = runner(home, kubectl.kubeconfig or Path())
    await ensure(process)
    for sample in SAMPLES:
        path = ROOT / "manifests" / "samples" / sample
        await kubectl.run(
            "apply", "--server-side", "--field-manager=local-cluster", "-f", str(path)
        )
    return process


def runner(home: Path, kubeconfig: Path) -> Process:
    """The pod runner, which has the rights of a kubelet on every node."""
    where = ("--kubeconfig", str(kubeconfig), "--home", str(home))
    command = Command(
        name=NAME,
        arguments=(sys.executable, "-m", "hack.podrunner", *where),
        environment=product_processes.ENVIRONMENT,
        inputs=(product_processes.code_digest(PACKAGES),),
    )
    return Process(command, home)
