"""The pod runner of the local system, and the function whose workers it runs."""

import sys
from pathlib import Path
from typing import Final

from hack.cluster.process import Command, Process
from hack.cluster.readiness import ensure_running
from hack.local import product_processes
from hack.local.command import Kubectl
from hack.local.state_dir import ROOT

PROCESS_NAME: Final = "pod-runner"
CODE_PACKAGES: Final = ("controller", "hack", "shared")
SAMPLE_MANIFESTS: Final = ("function-stock.yaml", "function.yaml")


async def start_pod_runner(state_dir: Path, kubectl: Kubectl) -> Process:
    """Start the pod runner, and install the echo function with stock for its workers."""
    process = pod_runner_process(state_dir, kubectl.kubeconfig or Path())
    await ensure_running(process)
    for sample in SAMPLE_MANIFESTS:
        path = ROOT / "manifests" / "samples" / sample
        await kubectl.run(
            "apply", "--server-side", "--field-manager=local-cluster", "-f", str(path)
        )
    return process


def pod_runner_process(state_dir: Path, kubeconfig: Path) -> Process:
    """Return the pod runner, which has the rights of a kubelet on every node."""
    options = ("--kubeconfig", str(kubeconfig), "--home", str(state_dir))
    command = Command(
        name=PROCESS_NAME,
        arguments=(sys.executable, "-m", "hack.podrunner", *options),
        environment=product_processes.ENVIRONMENT,
        fingerprint_inputs=(product_processes.code_digest(CODE_PACKAGES),),
    )
    return Process(command, state_dir)
