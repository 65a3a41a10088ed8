"""The product's own processes, started with the configuration of hack/config."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hack.cluster.files import write_whole
from hack.cluster.ports import HOST
from hack.cluster.process import Command, Process
from hack.local.home import ROOT


@dataclass(frozen=True)
class Program:
    """One program of ours: its process name, which is also its ServiceAccount, and its module."""

    name: str
    module: str
    packages: tuple[str, ...]


RUNTIME_API = Program("runtime-api", "apiserver", ("apiserver", "shared"))
CONTROLLER = Program("controller", "controller", ("controller", "shared"))
PROGRAMS = (CONTROLLER, RUNTIME_API)


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
        environment={"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        inputs=(text, code_digest(program)),
    )
    return Process(command, home)


def code_digest(program: Program) -> str:
    digest = hashlib.sha256()
    for package in program.packages:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def url(ports: Mapping[str, int], program: Program) -> str:
    return f"http://{HOST}:{ports[program.name]}"
