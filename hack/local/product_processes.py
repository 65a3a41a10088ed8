"""The product's own processes, started with the configuration of hack/config."""

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from hack.cluster.atomic_files import write_whole
from hack.cluster.errors import ClusterError
from hack.cluster.nats_server import QueueServer
from hack.cluster.ports import HOST
from hack.cluster.process import HOME, NAME, Command, Process
from hack.local.state_dir import ROOT


@dataclass(frozen=True)
class Program:
    """One program of ours: its process name, which is also its ServiceAccount, and its module."""

    name: str
    module: str
    packages: tuple[str, ...]


RUNTIME_API = Program("runtime-api", "apiserver", ("apiserver", "shared"))
CONTROLLER = Program("controller", "controller", ("controller", "shared"))
ACTIVATOR = Program("activator", "serverless.activator", ("serverless", "controller", "shared"))
RESULT_STORE = Program(
    "result-store", "serverless.resultstore", ("serverless", "controller", "shared")
)
PROGRAMS = (CONTROLLER, RUNTIME_API, ACTIVATOR)
NAMES = {"api": RUNTIME_API, "controller": CONTROLLER, "activator": ACTIVATOR}
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def configuration_path(home: Path, program: Program) -> Path:
    return home / "config" / f"{program.name}.yaml"


def process(home: Path, program: Program, changes: Mapping[str, Any]) -> Process:
    """The process of `program` with its file of hack/config and `changes` to it.

    Its code is part of the fingerprint: `make up` after an edit restarts it.
    """
    template = (ROOT / "hack" / "config" / f"{program.name}.yaml").read_text()
    text = yaml.safe_dump({**yaml.safe_load(template), **changes}, sort_keys=False)
    path = configuration_path(home, program)
    write_whole(path, text)
    command = Command(
        name=program.name,
        arguments=(sys.executable, "-m", program.module, "--config", str(path)),
        environment=ENVIRONMENT,
        inputs=(text, code_digest(program.packages)),
    )
    return Process(command, home)


def become(home: Path, program: Program, flags: Sequence[str]) -> NoReturn:
    """Turn into one more process of `program`, which `make down` ends like the others."""
    path = configuration_path(home, program)
    if not path.exists():
        raise ClusterError("the local system is not set up; run make up first")
    marks = {HOME: str(home), NAME: f"{program.name} (extra)"}
    os.execve(  # noqa: S606 - no shell is the point
        sys.executable,
        [sys.executable, "-m", program.module, "--config", str(path), *flags],
        {**os.environ, **ENVIRONMENT, **marks},
    )


def code_digest(packages: Iterable[str]) -> str:
    """Another text after every change of these packages."""
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def url(ports: Mapping[str, int], program: Program) -> str:
    return f"http://{HOST}:{ports[program.name]}"


def queue_access(queue: QueueServer, user: str) -> dict[str, str]:
    """How a program of ours reaches the queue."""
    return {"url": queue.url, "user": user, "passwordFile": str(queue.password_file(user))}
