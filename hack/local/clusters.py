"""The clusters that `make up` can stand on: our own processes, kind, or the current context."""

import asyncio
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from hack.cluster.binaries import Binary, find_all
from hack.cluster.controlplane import ControlPlane
from hack.cluster.errors import ClusterError
from hack.cluster.files import write_private
from hack.cluster.layout import Layout
from hack.cluster.process import Process
from hack.cluster.programs import PROGRAMS
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


async def start_kind(kubeconfig: Path) -> None:
    for program in ("docker", "kind"):
        if shutil.which(program) is None:
            raise ClusterError(f"CLUSTER=kind needs {program} on PATH; install it, or use make up")
    existing = await kind("get", "clusters")
    if KIND_CLUSTER not in existing.split():
        print("creating a kind cluster, about a minute", flush=True)
        await kind("create", "cluster", "--name", KIND_CLUSTER, "--kubeconfig", str(kubeconfig))
    else:
        await kind("export", "kubeconfig", "--name", KIND_CLUSTER, "--kubeconfig", str(kubeconfig))


async def delete_kind() -> None:
    await kind("delete", "cluster", "--name", KIND_CLUSTER)


async def kind(*arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "kind", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    output, errors = await process.communicate()
    if process.returncode != 0:
        raise ClusterError(f"kind {' '.join(arguments)}: {errors.decode().strip()}")
    return output.decode()


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
