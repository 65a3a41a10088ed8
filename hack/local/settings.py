"""What one checkout's local system remembers between commands: the cluster, its size, its ports."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from hack.cluster.atomic_files import write_whole
from hack.cluster.nodes import Fleet
from hack.cluster.ports import FreePorts, given_range, is_free

PREFERRED_PORTS: Mapping[str, int] = {
    "runtime-api": 8080,
    "controller": 8081,
    "activator": 8082,
    "result-store": 8083,
    "kube-apiserver": 6443,
    "etcd": 2379,
    "etcd-peer": 2380,
    "kwok": 10247,
    "nats": 4222,
    "nats-monitor": 8222,
    "postgres": 5433,
}
OWNERS = {"etcd-peer": "etcd", "nats": "nats-server", "nats-monitor": "nats-server"}
FILE = "settings.json"


def preferred_ports() -> dict[str, int]:
    """The ports that everybody knows, or the first ones of the range that the environment names."""
    given = given_range()
    return dict(zip(PREFERRED_PORTS, given, strict=False)) if given else dict(PREFERRED_PORTS)


@dataclass(frozen=True)
class Settings:
    """`cluster` is local, kind or current; the ports are those in use or used last."""

    cluster: str = "local"
    fleet: Fleet = field(default_factory=Fleet)
    ports: Mapping[str, int] = field(default_factory=preferred_ports)


def load(home: Path) -> Settings | None:
    """The settings of the system in `home`; None when there is none."""
    try:
        stored = json.loads((home / FILE).read_text())
    except FileNotFoundError:
        return None
    ports = {**preferred_ports(), **stored["ports"]}  # those that an older system did not have
    return Settings(stored["cluster"], Fleet(**stored["fleet"]), ports)


def save(home: Path, settings: Settings) -> None:
    write_whole(home / FILE, json.dumps(asdict(settings), indent=2) + "\n")


def with_usable_ports(
    settings: Settings, runs: Callable[[str], bool], randomness: random.Random
) -> Settings:
    """Keep the ports of processes that run and those that are free; replace the taken ones."""
    ports: dict[str, int] = {}
    free = FreePorts(randomness)
    for name, port in settings.ports.items():
        owner = OWNERS.get(name, name)
        keep = runs(owner) or (is_free(port) and port not in ports.values())
        ports[name] = port if keep else free.take()
    return replace(settings, ports=ports)
