"""The clusters that `make up` can stand on: our own processes, kind, or the current context."""

import asyncio
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.atomic_files import write_private
from hack.cluster.binaries.catalogue import PROGRAMS
from hack.cluster.binaries.find import Binary, find_all
from hack.cluster.control_plane import ControlPlane
from hack.cluster.errors import ClusterError
from hack.cluster.layout import Layout
from hack.cluster.process import Process
from hack.local.command import output_of
from hack.local.kubectl import Kubectl
from hack.local.settings import Settings

NAMES = ("local", "kind", "current")
KIND_CLUSTER = "gpu-runtime"
KUBECTL_ONLY = tuple(program for program in PROGRAMS if program.name == "kubectl")


@dataclass(frozen=True)
class Cluster:
    """A cluster that answers: kubectl with administrator rights, and our processes in it."""

    kubectl: Kubectl
    binaries: dict[str, Binary]
    processes: tuple[Process, ...] = ()


def local(home: Path, settings: Settings, binaries: dict[str, Binary]) -> ControlPlane:
    """Our own control plane in `home`, not yet started."""
    paths = {name: binary.path for name, binary in binaries.items()}
    return ControlPlane(Layout(home, settings.ports, paths))


async def start(home: Path, settings: Settings, binaries: dict[str, Binary]) -> Cluster:
    """Bring up the cluster that the settings name."""
    kubeconfig = home / "kubeconfigs" / "admin"
    kubectl = Kubectl(binaries["kubectl"].path, kubeconfig)
    if settings.cluster == "kind":
        await start_kind(kubeconfig)
        return Cluster(kubectl, binaries)
    if settings.cluster == "current":
        return Cluster(kubectl, binaries)
    plane = local(home, settings, binaries)
    await plane.start(settings.fleet)
    return Cluster(kubectl, binaries, plane.processes)


def binaries_for(cluster: str) -> dict[str, Binary]:
    return find_all(PROGRAMS if cluster == "local" else KUBECTL_ONLY)


def require_programs(cluster: str) -> None:
    """Say what must be installed before anything is begun."""
    for program in ("docker", "kind") if cluster == "kind" else ():
        if shutil.which(program) is None:
            raise ClusterError(f"CLUSTER=kind needs {program} on PATH; install it, or use make up")


async def start_kind(kubeconfig: Path) -> None:
    target = ("--name", KIND_CLUSTER, "--kubeconfig", str(kubeconfig))
    existing = await output_of("kind", "get", "clusters")
    if KIND_CLUSTER in existing.split():
        await output_of("kind", "export", "kubeconfig", *target)
        return
    print("creating a kind cluster, about a minute", flush=True)
    await output_of("kind", "create", "cluster", *target)


async def delete_kind() -> None:
    require_programs("kind")
    await output_of("kind", "delete", "cluster", "--name", KIND_CLUSTER)


async def adopt_current_context(home: Path, kubectl: Path) -> None:
    """Take over the user's current context, after asking; nothing else of it is ever used."""
    user = Kubectl(kubectl, None)
    context = (await user.run("config", "current-context")).strip()
    print(f"This installs GPU Runtime's namespaces, accounts and roles in the cluster '{context}'.")
    print("Go on? [y/N] ", end="", flush=True)
    answer = await asyncio.to_thread(sys.stdin.readline)
    if answer.strip().lower() not in ("y", "yes"):
        raise ClusterError("nothing was changed")
    flat = await user.run("config", "view", "--minify", "--flatten", "--raw")
    write_private(home / "kubeconfigs" / "admin", flat)
