"""The output at the end of `make up`: the processes, their addresses, and commands to try next."""

from collections.abc import Sequence
from pathlib import Path

from hack.cluster.ports import HOST
from hack.cluster.process import Process
from hack.local import product_processes
from hack.local.clusters import RunningCluster
from hack.local.settings import LocalSettings
from hack.local.state_dir import ROOT

ADDRESS_FORMATS = {
    "runtime-api": "http://{}:{}",
    "controller": "http://{}:{}",
    "activator": "http://{}:{}",
    "result-store": "http://{}:{}",
    "postgres": "postgresql://{}:{}",
    "kube-apiserver": "https://{}:{}",
    "etcd": "http://{}:{}",
    "kwok": "https://{}:{}",
    "nats-server": "nats://{}:{}",
}


def render_summary(
    state_dir: Path,
    settings: LocalSettings,
    cluster: RunningCluster,
    processes: Sequence[Process],
    seconds: float,
) -> str:
    api = product_processes.program_url(settings.ports, product_processes.RUNTIME_API)
    kubeconfig = quote_if_needed(short_path(state_dir / "kubeconfigs/admin"))
    kubectl = f"{cluster.kubectl.program} --kubeconfig {kubeconfig}"
    rows = [
        f"  {process.name:<24}{process_address(process.name, settings):<32}pid {process.pid}"
        for process in processes
    ]
    size = f"{settings.fleet.nodes} nodes with {settings.fleet.gpus} GPUs each, simulated"
    description = size if settings.cluster == "local" else f"cluster: {settings.cluster}"
    return "\n".join(
        [
            "",
            f"GPU Runtime is up ({seconds:.0f} s).  {description}",
            "",
            *rows,
            "",
            f"  state {short_path(state_dir)}/   logs {short_path(state_dir)}/logs/   "
            f". {short_path(state_dir)}/env sets"
            " BASE_URL, KUBECONFIG, ...",
            "",
            "Try:",
            f"  curl -s {api}/api/v1/health",
            f"  {kubectl} get nodes",
            *example_call(api, settings),
            f"  {api}/swagger and {api}/ui   in a browser",
            "",
            "make status | make logs | make down",
        ]
    )


def example_call(api: str, settings: LocalSettings) -> list[str]:
    """Return a call of the installed function if pods have processes, otherwise empty."""
    if settings.cluster != "local":
        return []
    return [f"  curl -s {api}/api/v1/serverless/functions/echo/invoke?mode=sync -d hello"]


def process_address(name: str, settings: LocalSettings) -> str:
    """Return the address of a process; empty if the process does not listen."""
    port = settings.ports.get("nats" if name == "nats-server" else name)
    return ADDRESS_FORMATS[name].format(HOST, port) if name in ADDRESS_FORMATS else ""


def short_path(path: Path) -> str:
    """Return the path relative to the checkout if it is inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def quote_if_needed(text: str) -> str:
    return f"'{text}'" if " " in text else text
