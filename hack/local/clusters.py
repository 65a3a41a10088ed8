"""The clusters of `make up`: local processes, kind, or the current context."""

import asyncio
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.atomic_files import write_private_atomic
from hack.cluster.binaries.catalogue import PROGRAMS
from hack.cluster.binaries.find import Binary, ensure_binaries
from hack.cluster.control_plane import ControlPlane
from hack.cluster.errors import ClusterError
from hack.cluster.layout import ControlPlaneLayout
from hack.cluster.process import Process
from hack.local.command import Kubectl, run_command
from hack.local.settings import LocalSettings

CLUSTER_KINDS = ("local", "kind", "current")
KIND_CLUSTER = "gpu-runtime"
KUBECTL_ONLY = tuple(program for program in PROGRAMS if program.name == "kubectl")


@dataclass(frozen=True)
class RunningCluster:
    """A ready cluster: kubectl with all rights, and the product's processes in the cluster."""

    kubectl: Kubectl
    binaries: dict[str, Binary]
    processes: tuple[Process, ...] = ()


def local_control_plane(
    state_dir: Path, settings: LocalSettings, binaries: dict[str, Binary]
) -> ControlPlane:
    """Return the control plane in `state_dir` without starting it."""
    paths = {name: binary.path for name, binary in binaries.items()}
    return ControlPlane(ControlPlaneLayout(state_dir, settings.ports, paths))


async def start_cluster(
    state_dir: Path, settings: LocalSettings, binaries: dict[str, Binary]
) -> RunningCluster:
    """Start the cluster that the settings name."""
    kubeconfig = state_dir / "kubeconfigs" / "admin"
    kubectl = Kubectl(binaries["kubectl"].path, kubeconfig)
    if settings.cluster == "kind":
        await start_kind_cluster(kubeconfig)
        return RunningCluster(kubectl, binaries)
    if settings.cluster == "current":
        return RunningCluster(kubectl, binaries)
    plane = local_control_plane(state_dir, settings, binaries)
    await plane.start(settings.fleet)
    return RunningCluster(kubectl, binaries, plane.processes)


def binaries_for(cluster: str) -> dict[str, Binary]:
    return ensure_binaries(PROGRAMS if cluster == "local" else KUBECTL_ONLY)


def require_programs(cluster: str) -> None:
    """Raise ClusterError if a program for this kind of cluster is not installed."""
    for program in ("docker", "kind") if cluster == "kind" else ():
        if shutil.which(program) is None:
            raise ClusterError(
                f"CLUSTER=kind needs {program} on PATH; install it, or run make up without CLUSTER"
            )


async def start_kind_cluster(kubeconfig: Path) -> None:
    target = ("--name", KIND_CLUSTER, "--kubeconfig", str(kubeconfig))
    existing = await run_command("kind", "get", "clusters")
    if KIND_CLUSTER in existing.split():
        await run_command("kind", "export", "kubeconfig", *target)
        return
    print("creating a kind cluster, about a minute", flush=True)
    await run_command("kind", "create", "cluster", *target)


async def delete_kind_cluster() -> None:
    require_programs("kind")
    await run_command("kind", "delete", "cluster", "--name", KIND_CLUSTER)


async def adopt_current_context(state_dir: Path, kubectl_path: Path) -> None:
    """Copy the user's current context after a confirmation; raise ClusterError without one."""
    user = Kubectl(kubectl_path, None)
    context = (await user.run("config", "current-context")).strip()
    print(f"This installs GPU Runtime's namespaces, accounts and roles in the cluster '{context}'.")
    print("Continue? [y/N] ", end="", flush=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    if answer.strip().lower() not in ("y", "yes"):
        raise ClusterError("nothing was changed")
    flat = await user.run("config", "view", "--minify", "--flatten", "--raw")
    write_private_atomic(state_dir / "kubeconfigs" / "admin", flat)
