"""`make up`: bring every process of the local system up, or repair what is not."""

import asyncio
import random
import time
from dataclasses import replace
from pathlib import Path

from hack.cluster.atomic_files import write_private
from hack.cluster.binaries.find import Binary
from hack.cluster.errors import ClusterError
from hack.cluster.nats_server import QueueServer
from hack.cluster.nodes import Fleet
from hack.cluster.ports import HOST
from hack.cluster.process import NAME, Process, mark, marked
from hack.cluster.readiness import answers, ensure, until
from hack.generate.crd_resources import RESOURCES
from hack.local import (
    clusters,
    env_file,
    pod_runner,
    product_processes,
    result_store,
    settings,
    summary,
)
from hack.local.account_kubeconfigs import write_identity
from hack.local.clusters import Cluster
from hack.local.kubectl import Kubectl
from hack.local.settings import Settings
from hack.local.state_dir import ROOT
from shared.v1alpha1.group import GROUP

DEFINITIONS = [f"{each.plural}.{GROUP}" for each in RESOURCES]


def choose(home: Path, cluster: str | None, nodes: int | None, gpus: int | None) -> Settings:
    """What is asked for, and for the rest what was there before."""
    stored = settings.load(home)
    if stored and cluster and cluster != stored.cluster:
        raise ClusterError(f"CLUSTER={stored.cluster} is set up here; run make down first")
    clusters.require_programs(cluster or "local")
    before = stored or Settings(cluster=cluster or "local")
    fleet = Fleet(nodes or before.fleet.nodes, gpus or before.fleet.gpus)
    running = {mark(process, NAME) for process in marked(home)}
    wanted = replace(before, fleet=fleet)
    return settings.with_usable_ports(wanted, running.__contains__, random.Random())  # noqa: S311


async def bring_up(home: Path, wanted: Settings, binaries: dict[str, Binary]) -> None:
    """Start what is missing in the order of dependence, and show what runs where."""
    started = time.monotonic()
    if wanted.cluster == "current" and settings.load(home) is None:
        await clusters.adopt_current_context(home, binaries["kubectl"].path)
    settings.save(home, wanted)
    queue = QueueServer(home, wanted.ports)
    await ensure(queue.process)
    say(f"starting the cluster ({wanted.cluster})")
    cluster = await clusters.start(home, wanted, binaries)
    await queue.ready()
    say("installing the manifests")
    await install(cluster.kubectl)
    say(f"starting {', '.join(program.name for program in product_processes.PROGRAMS)}")
    stored = await result_store.start_database(home, wanted)
    processes = (*stored, *await start_ours(home, wanted, cluster, queue))
    if stored:
        processes = (*processes, await result_store.start_store(home, wanted, queue))
    if wanted.cluster == "local":
        processes = (*processes, await pod_runner.start(home, cluster.kubectl))
    write_private(home / "env", env_file.render(environment(wanted, cluster, queue)))
    everything = (*cluster.processes, queue.process, *processes)
    print(summary.render(home, wanted, cluster, everything, time.monotonic() - started))


async def install(kubectl: Kubectl) -> None:
    """Apply what our processes need: resource definitions, priorities, accounts and roles."""
    apply = ("apply", "--server-side", "--force-conflicts", "--field-manager=local-cluster")
    for part in ("crd", "priority", "rbac"):
        await kubectl.run(*apply, "-k", str(ROOT / "manifests" / part))
    definitions = [f"crd/{each}" for each in DEFINITIONS]
    await kubectl.run("wait", "--for=condition=Established", "--timeout=30s", *definitions)


async def start_ours(
    home: Path, wanted: Settings, cluster: Cluster, queue: QueueServer
) -> tuple[Process, ...]:
    accounts = [program.name for program in product_processes.PROGRAMS]
    paths = await asyncio.gather(
        *(write_identity(cluster.kubectl, account, home) for account in accounts)
    )
    kubeconfigs = dict(zip(accounts, map(str, paths), strict=True))
    processes = (
        controller(home, wanted, kubeconfigs["controller"]),
        runtime_api(home, wanted, kubeconfigs["runtime-api"], queue),
        activator(home, wanted, kubeconfigs["activator"], queue),
    )
    for process in processes:
        await ensure(process)
    for process, program in zip(processes, product_processes.PROGRAMS, strict=True):
        readyz = f"{product_processes.url(wanted.ports, program)}/readyz"
        await until(lambda url=readyz: answers(url), process)  # type: ignore[misc]
    return processes


def controller(home: Path, wanted: Settings, kubeconfig: str) -> Process:
    address = f"{HOST}:{wanted.ports['controller']}"
    changes = {"kubeconfig": kubeconfig, "probeAddr": address, "metricsAddr": address}
    return product_processes.process(home, product_processes.CONTROLLER, changes)


def runtime_api(home: Path, wanted: Settings, kubeconfig: str, queue: QueueServer) -> Process:
    changes = {
        "kubeconfig": kubeconfig,
        "httpAddr": f"{HOST}:{wanted.ports['runtime-api']}",
        "nats": product_processes.queue_access(queue, "runtime-api"),
        **result_store.api_settings(home),
    }
    return product_processes.process(home, product_processes.RUNTIME_API, changes)


def activator(home: Path, wanted: Settings, kubeconfig: str, queue: QueueServer) -> Process:
    address = f"{HOST}:{wanted.ports['activator']}"
    changes = {
        "kubeconfig": kubeconfig,
        "probeAddr": address,
        "metricsAddr": address,
        "runtimeApiURL": product_processes.url(wanted.ports, product_processes.RUNTIME_API),
        "nats": product_processes.queue_access(queue, "activator"),
        "workerKeyFile": str(queue.worker_key_file),
        "calloutUser": "callout",
        "calloutPasswordFile": str(queue.password_file("callout")),
        "calloutSeedFile": str(queue.issuer_seed_file),
    }
    return product_processes.process(home, product_processes.ACTIVATOR, changes)


def environment(wanted: Settings, cluster: Cluster, queue: QueueServer) -> dict[str, str]:
    return {
        "BASE_URL": product_processes.url(wanted.ports, product_processes.RUNTIME_API),
        "CONTROLLER_URL": product_processes.url(wanted.ports, product_processes.CONTROLLER),
        "ACTIVATOR_URL": product_processes.url(wanted.ports, product_processes.ACTIVATOR),
        "KUBECONFIG": str(cluster.kubectl.kubeconfig),
        "KUBECTL": str(cluster.kubectl.program),
        "NATS_URL": queue.admin_url,
        "POD_RUNNER": str(int(wanted.cluster == "local")),
    }


def say(text: str) -> None:
    print(f"- {text}", flush=True)
