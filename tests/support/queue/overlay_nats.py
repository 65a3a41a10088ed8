"""The NATS servers of an overlay, as its StatefulSet starts them, with the keys of its Secret."""

from base64 import b64decode
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hack.cluster.nats_server import nats_server
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.cluster.readiness import answers, until
from tests.runner.ports import new_port
from tests.support.cluster.overlays import named

CONFIGURATION = "/etc/nats/nats.conf"
DATA = "/data"
CLUSTER_PORT = 6222


@dataclass(frozen=True)
class Place:
    """Where the server of one pod is here; all pods are on one machine."""

    name: str
    port: int
    monitor: int
    cluster: int

    @property
    def url(self) -> str:
        return f"nats://{HOST}:{self.port}"


def places(objects: list[dict[str, Any]]) -> list[Place]:
    """One for each pod of the StatefulSet."""
    replicas = range(named(objects, "StatefulSet", "nats")["spec"]["replicas"])
    return [Place(f"nats-{number}", new_port(), new_port(), new_port()) for number in replicas]


def arguments(
    container: Mapping[str, Any], all_: Sequence[Place], own: Place, home: Path
) -> list[str]:
    """The container's own, for this machine."""
    changes = {CONFIGURATION: str(home / "nats.conf"), DATA: str(home), "$(POD_NAME)": own.name}
    changes |= {f"0.0.0.0:{CLUSTER_PORT}": f"{HOST}:{own.cluster}"}
    for each in all_:
        changes[f"{each.name}.nats-servers:{CLUSTER_PORT}"] = f"{HOST}:{each.cluster}"
    given = list(container["args"])
    for there, here in changes.items():
        given = [word.replace(there, here) for word in given]
    return [*given, "--addr", HOST, "--port", str(own.port), "--http_port", str(own.monitor)]


def environment(container: Mapping[str, Any], secret: Mapping[str, str]) -> dict[str, str]:
    """What the container takes from the Secret."""
    refs = {each["name"]: each["valueFrom"].get("secretKeyRef") for each in container["env"]}
    return {name: b64decode(secret[ref["key"]]).decode() for name, ref in refs.items() if ref}


@asynccontextmanager
async def serving(
    objects: list[dict[str, Any]], secret: Mapping[str, str], home: Path
) -> AsyncIterator[list[tuple[Place, Process]]]:
    """All servers of the overlay, ready, for the length of the block."""
    (container,) = named(objects, "StatefulSet", "nats")["spec"]["template"]["spec"]["containers"]
    text = named(objects, "ConfigMap", "nats-config")["data"]["nats.conf"]
    servers = []
    async with AsyncExitStack() as stack:
        for place in (there := places(objects)):
            own = home / place.name
            own.mkdir(parents=True)
            (own / "nats.conf").write_text(text)
            words = (str(nats_server()), *arguments(container, there, place, own))
            process = Process(Command(place.name, words, environment(container, secret)), own)
            process.start()
            stack.push_async_callback(process.stop)
            servers.append((place, process))
        for place, process in servers:
            url = f"http://{HOST}:{place.monitor}/healthz?js-server-only=true"
            await until(lambda url=url: answers(url), process)  # type: ignore[misc]
        yield servers
