"""The NATS servers of an overlay, started as its StatefulSet does, with the keys of its Secret."""

from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hack.cluster.nats_server import nats_server_binary
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.cluster.readiness import responds_ok, wait_until
from tests.runner.ports import new_port
from tests.support.cluster.overlays import find_object

CONFIG_PATH = "/etc/nats/nats.conf"
DATA_PATH = "/data"
CLUSTER_PORT = 6222


@dataclass(frozen=True)
class ServerPorts:
    """The ports of one pod's server; all pods are on one machine."""

    name: str
    port: int
    monitor: int
    cluster: int

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"


def allocate_server_ports(objects: list[dict[str, Any]]) -> list[ServerPorts]:
    """Allocate the ports of each pod of the StatefulSet."""
    replicas = range(find_object(objects, "StatefulSet", "nats")["spec"]["replicas"])
    return [
        ServerPorts(f"nats-{number}", new_port(), new_port(), new_port()) for number in replicas
    ]


def local_arguments(
    container: Mapping[str, Any],
    servers: Sequence[ServerPorts],
    server: ServerPorts,
    state_dir: Path,
) -> list[str]:
    """Return the container's arguments, changed for this machine."""
    changes = {
        CONFIG_PATH: str(state_dir / "nats.conf"),
        DATA_PATH: str(state_dir),
        "$(POD_NAME)": server.name,
    }
    changes |= {f"0.0.0.0:{CLUSTER_PORT}": f"{HOST}:{server.cluster}"}
    for peer in servers:
        changes[f"{peer.name}.nats-servers:{CLUSTER_PORT}"] = f"{HOST}:{peer.cluster}"
    arguments = list(container["args"])
    for deployed, local in changes.items():
        arguments = [argument.replace(deployed, local) for argument in arguments]
    return [
        *arguments,
        "--addr",
        HOST,
        "--port",
        str(server.port),
        "--http_port",
        str(server.monitor),
    ]


def local_environment(container: Mapping[str, Any], secret: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the container takes from the Secret."""
    refs = {
        variable["name"]: variable["valueFrom"].get("secretKeyRef") for variable in container["env"]
    }
    return {name: b64decode(secret[ref["key"]]).decode() for name, ref in refs.items() if ref}


@asynccontextmanager
async def run_overlay_nats(
    objects: list[dict[str, Any]], secret: Mapping[str, str], state_dir: Path
) -> AsyncIterator[list[tuple[ServerPorts, Process]]]:
    """Run all servers of the overlay, ready, for the length of the block."""
    (container,) = find_object(objects, "StatefulSet", "nats")["spec"]["template"]["spec"][
        "containers"
    ]
    text = find_object(objects, "ConfigMap", "nats-config")["data"]["nats.conf"]
    servers = []
    async with AsyncExitStack() as stack:
        for server_ports in (all_ports := allocate_server_ports(objects)):
            server_dir = state_dir / server_ports.name
            server_dir.mkdir(parents=True)
            (server_dir / "nats.conf").write_text(text)
            arguments = (
                str(nats_server_binary()),
                *local_arguments(container, all_ports, server_ports, server_dir),
            )
            process = Process(
                Command(server_ports.name, arguments, local_environment(container, secret)),
                server_dir,
            )
            process.start()
            stack.push_async_callback(process.stop)
            servers.append((server_ports, process))
        for server_ports, process in servers:
            url = f"http://{HOST}:{server_ports.monitor}/healthz?js-server-only=true"
            await wait_until(lambda url=url: responds_ok(url), process)  # type: ignore[misc]
        yield servers
