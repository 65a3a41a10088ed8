"""The stored settings of a local system: its cluster, its size and its ports."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from hack.cluster.atomic_files import write_atomic
from hack.cluster.nodes import Fleet
from hack.cluster.ports import FreePorts, configured_range, is_port_free

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
PROCESS_BY_PORT = {"etcd-peer": "etcd", "nats": "nats-server", "nats-monitor": "nats-server"}
SETTINGS_FILE = "settings.json"


def preferred_ports() -> dict[str, int]:
    """Return the well-known ports, or the first ones of the range in the environment."""
    configured = configured_range()
    return (
        dict(zip(PREFERRED_PORTS, configured, strict=False))
        if configured
        else dict(PREFERRED_PORTS)
    )


@dataclass(frozen=True)
class LocalSettings:
    """The settings; `cluster` is local, kind or current, `ports` are those in use or used last."""

    cluster: str = "local"
    fleet: Fleet = field(default_factory=Fleet)
    ports: Mapping[str, int] = field(default_factory=preferred_ports)


def load_settings(state_dir: Path) -> LocalSettings | None:
    """Return the settings of the system in `state_dir`, or None if there are none."""
    try:
        stored = json.loads((state_dir / SETTINGS_FILE).read_text())
    except FileNotFoundError:
        return None
    ports = {
        **preferred_ports(),
        **stored["ports"],
    }  # with defaults for ports that older settings do not have
    return LocalSettings(stored["cluster"], Fleet(**stored["fleet"]), ports)


def save_settings(state_dir: Path, settings: LocalSettings) -> None:
    write_atomic(state_dir / SETTINGS_FILE, json.dumps(asdict(settings), indent=2) + "\n")


def with_usable_ports(
    settings: LocalSettings, is_running: Callable[[str], bool], randomness: random.Random
) -> LocalSettings:
    """Keep ports that are free or belong to running processes, and replace the others."""
    ports: dict[str, int] = {}
    free = FreePorts(randomness)
    for name, port in settings.ports.items():
        owner = PROCESS_BY_PORT.get(name, name)
        keep = is_running(owner) or (is_port_free(port) and port not in ports.values())
        ports[name] = port if keep else free.take()
    return replace(settings, ports=ports)
