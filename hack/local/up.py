"""The command `make up`, which starts the local system and repairs a partial one."""

import asyncio
import random
import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from hack.cluster.atomic_files import write_private_atomic
from hack.cluster.binaries.find import Binary
from hack.cluster.errors import ClusterError
from hack.cluster.nats_server import NATSServer
from hack.cluster.nodes import Fleet
from hack.cluster.ports import HOST
from hack.cluster.process import PROCESS_NAME_VARIABLE, Process, marked_processes, read_mark
from hack.cluster.readiness import ensure_running, responds_ok, wait_until
from hack.generate.crd_resources import RESOURCES
from hack.local import (
    clusters,
    pod_runner,
    product_processes,
    result_store,
    settings,
    summary,
)
from hack.local.account_kubeconfigs import write_account_kubeconfig
from hack.local.clusters import RunningCluster
from hack.local.command import Kubectl
from hack.local.settings import LocalSettings
from hack.local.state_dir import ROOT
from shared.v1alpha1.group import GROUP

CRD_NAMES = [f"{resource.plural}.{GROUP}" for resource in RESOURCES]


def choose_settings(
    state_dir: Path, cluster: str | None, nodes: int | None, gpus: int | None
) -> LocalSettings:
    """Return the requested settings, completed from the stored ones."""
    stored = settings.load_settings(state_dir)
    if stored and cluster and cluster != stored.cluster:
        raise ClusterError(f"CLUSTER={stored.cluster} is set up here; run make down first")
    clusters.require_programs(cluster or "local")
    base = stored or LocalSettings(cluster=cluster or "local")
    fleet = Fleet(nodes or base.fleet.nodes, gpus or base.fleet.gpus)
    running = {read_mark(process, PROCESS_NAME_VARIABLE) for process in marked_processes(state_dir)}
    requested = replace(base, fleet=fleet)
    return settings.with_usable_ports(requested, running.__contains__, random.Random())  # noqa: S311


async def bring_up(state_dir: Path, chosen: LocalSettings, binaries: dict[str, Binary]) -> None:
    """Start the missing processes in the order of their dependencies, and print all addresses."""
    started = time.monotonic()
    if chosen.cluster == "current" and settings.load_settings(state_dir) is None:
        await clusters.adopt_current_context(state_dir, binaries["kubectl"].path)
    settings.save_settings(state_dir, chosen)
    nats_server = NATSServer(state_dir, chosen.ports)
    await ensure_running(nats_server.process)
    print_step(f"starting the cluster ({chosen.cluster})")
    cluster = await clusters.start_cluster(state_dir, chosen, binaries)
    await nats_server.wait_ready()
    print_step("installing the manifests")
    await install_manifests(cluster.kubectl)
    print_step(
        f"starting {', '.join(program.name for program in product_processes.PRODUCT_PROGRAMS)}"
    )
    database = await result_store.start_database(state_dir, chosen)
    processes = (*database, *await start_product(state_dir, chosen, cluster, nats_server))
    if database:
        processes = (
            *processes,
            await result_store.start_result_store(state_dir, chosen, nats_server),
        )
    if chosen.cluster == "local":
        processes = (*processes, await pod_runner.start_pod_runner(state_dir, cluster.kubectl))
    write_private_atomic(
        state_dir / "env",
        render_env_file(env_file_values(chosen, cluster, nats_server)),
    )
    everything = (*cluster.processes, nats_server.process, *processes)
    print(
        summary.render_summary(state_dir, chosen, cluster, everything, time.monotonic() - started)
    )


async def install_manifests(kubectl: Kubectl) -> None:
    """Apply the manifests that our processes need: CRDs, priorities, accounts and roles."""
    apply = ("apply", "--server-side", "--force-conflicts", "--field-manager=local-cluster")
    for folder in ("crd", "priority", "rbac"):
        await kubectl.run(*apply, "-k", str(ROOT / "manifests" / folder))
    definitions = [f"crd/{name}" for name in CRD_NAMES]
    await kubectl.run("wait", "--for=condition=Established", "--timeout=30s", *definitions)


async def start_product(
    state_dir: Path, chosen: LocalSettings, cluster: RunningCluster, nats_server: NATSServer
) -> tuple[Process, ...]:
    accounts = [program.name for program in product_processes.PRODUCT_PROGRAMS]
    paths = await asyncio.gather(
        *(write_account_kubeconfig(cluster.kubectl, account, state_dir) for account in accounts)
    )
    kubeconfigs = dict(zip(accounts, map(str, paths), strict=True))
    processes = (
        controller_process(state_dir, chosen, kubeconfigs["controller"]),
        runtime_api_process(state_dir, chosen, kubeconfigs["runtime-api"], nats_server),
        activator_process(state_dir, chosen, kubeconfigs["activator"], nats_server),
    )
    for process in processes:
        await ensure_running(process)
    for process, program in zip(processes, product_processes.PRODUCT_PROGRAMS, strict=True):
        readyz = f"{product_processes.program_url(chosen.ports, program)}/readyz"
        await wait_until(lambda url=readyz: responds_ok(url), process)  # type: ignore[misc]
    return processes


def controller_process(state_dir: Path, chosen: LocalSettings, kubeconfig: str) -> Process:
    address = f"{HOST}:{chosen.ports['controller']}"
    changes = {"kubeconfig": kubeconfig, "probeAddr": address, "metricsAddr": address}
    return product_processes.product_process(state_dir, product_processes.CONTROLLER, changes)


def runtime_api_process(
    state_dir: Path, chosen: LocalSettings, kubeconfig: str, nats_server: NATSServer
) -> Process:
    changes = {
        "kubeconfig": kubeconfig,
        "httpAddr": f"{HOST}:{chosen.ports['runtime-api']}",
        "nats": product_processes.nats_settings(nats_server, "runtime-api"),
        **result_store.api_overrides(state_dir),
    }
    return product_processes.product_process(state_dir, product_processes.RUNTIME_API, changes)


def activator_process(
    state_dir: Path, chosen: LocalSettings, kubeconfig: str, nats_server: NATSServer
) -> Process:
    address = f"{HOST}:{chosen.ports['activator']}"
    changes = {
        "kubeconfig": kubeconfig,
        "probeAddr": address,
        "metricsAddr": address,
        "runtimeApiURL": product_processes.program_url(chosen.ports, product_processes.RUNTIME_API),
        "nats": product_processes.nats_settings(nats_server, "activator"),
        "workerKeyFile": str(nats_server.worker_key_file),
        "calloutUser": "callout",
        "calloutPasswordFile": str(nats_server.password_file("callout")),
        "calloutSeedFile": str(nats_server.issuer_seed_file),
    }
    return product_processes.product_process(state_dir, product_processes.ACTIVATOR, changes)


def render_env_file(values: Mapping[str, str]) -> str:
    """Return lines of NAME=value, then an export for programs that the shell starts."""
    lines = [f"{name}={shlex.quote(value)}" for name, value in values.items()]
    return "\n".join([*lines, f"export {' '.join(values)}", ""])


def env_file_values(
    chosen: LocalSettings, cluster: RunningCluster, nats_server: NATSServer
) -> dict[str, str]:
    return {
        "BASE_URL": product_processes.program_url(chosen.ports, product_processes.RUNTIME_API),
        "CONTROLLER_URL": product_processes.program_url(chosen.ports, product_processes.CONTROLLER),
        "ACTIVATOR_URL": product_processes.program_url(chosen.ports, product_processes.ACTIVATOR),
        "KUBECONFIG": str(cluster.kubectl.kubeconfig),
        "KUBECTL": str(cluster.kubectl.program),
        "NATS_URL": nats_server.admin_url,
        "POD_RUNNER": str(int(chosen.cluster == "local")),
    }


def print_step(text: str) -> None:
    print(f"- {text}", flush=True)
