"""The NATS servers of an overlay, as its StatefulSet starts them, with the keys of its Secret."""

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
    """Where the server of one pod is here; all pods are on one machine."""

    name: str
    port: int
    monitor: int
    cluster: int

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"


def allocate_server_ports(objects: list[dict[str, Any]]) -> list[ServerPorts]:
    """One for each pod of the StatefulSet."""
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
    """The container's own, for this machine."""
    changes = {
        CONFIG_PATH: str(state_dir / "nats.conf"),
        DATA_PATH: str(state_dir),
        "$(POD_NAME)": server.name,
    }
    changes |= {f"0.0.0.0:{CLUSTER_PORT}": f"{HOST}:{server.cluster}"}
    for each in servers:
        changes[f"{each.name}.nats-servers:{CLUSTER_PORT}"] = f"{HOST}:{each.cluster}"
    given = list(container["args"])
    for there, here in changes.items():
        given = [word.replace(there, here) for word in given]
    return [*given, "--addr", HOST, "--port", str(server.port), "--http_port", str(server.monitor)]


def local_environment(container: Mapping[str, Any], secret: Mapping[str, str]) -> dict[str, str]:
    """What the container takes from the Secret."""
    refs = {each["name"]: each["valueFrom"].get("secretKeyRef") for each in container["env"]}
    return {name: b64decode(secret[ref["key"]]).decode() for name, ref in refs.items() if ref}


@asynccontextmanager
async def run_overlay_nats(
    objects: list[dict[str, Any]], secret: Mapping[str, str], state_dir: Path
) -> AsyncIterator[list[tuple[ServerPorts, Process]]]:
    """All servers of the overlay, ready, for the length of the block."""
    (container,) = find_object(objects, "StatefulSet", "nats")["spec"]["template"]["spec"][
        "containers"
    ]
    text = find_object(objects, "ConfigMap", "nats-config")["data"]["nats.conf"]
    servers = []
    async with AsyncExitStack() as stack:
        for place in (there := allocate_server_ports(objects)):
            own = state_dir / place.name
            own.mkdir(parents=True)
            (own / "nats.conf").write_text(text)
            words = (str(nats_server_binary()), *local_arguments(container, there, place, own))
            process = Process(Command(place.name, words, local_environment(container, secret)), own)
            process.start()
            stack.push_async_callback(process.stop)
            servers.append((place, process))
        for place, process in servers:
            url = f"http://{HOST}:{place.monitor}/healthz?js-server-only=true"
            await wait_until(lambda url=url: responds_ok(url), process)  # type: ignore[misc]
        yield servers
