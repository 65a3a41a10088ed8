"""The product's processes, started with the configuration of hack/config."""

import hashlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from hack.cluster.atomic_files import write_atomic
from hack.cluster.errors import ClusterError
from hack.cluster.nats_server import NATSServer
from hack.cluster.ports import HOST
from hack.cluster.process import PROCESS_NAME_VARIABLE, STATE_DIR_VARIABLE, Command, Process
from hack.local.state_dir import ROOT


@dataclass(frozen=True)
class ProductProgram:
    """A program: its process name, which is also its ServiceAccount, and its module."""

    name: str
    module: str
    packages: tuple[str, ...]


RUNTIME_API = ProductProgram("runtime-api", "apiserver", ("apiserver", "shared"))
CONTROLLER = ProductProgram("controller", "controller", ("controller", "shared"))
ACTIVATOR = ProductProgram(
    "activator", "serverless.activator", ("serverless", "controller", "shared")
)
RESULT_STORE = ProductProgram(
    "result-store", "serverless.resultstore", ("serverless", "controller", "shared")
)
PRODUCT_PROGRAMS = (CONTROLLER, RUNTIME_API, ACTIVATOR)
PROGRAMS_BY_ALIAS = {"api": RUNTIME_API, "controller": CONTROLLER, "activator": ACTIVATOR}
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def config_path(state_dir: Path, program: ProductProgram) -> Path:
    return state_dir / "config" / f"{program.name}.yaml"


def product_process(
    state_dir: Path, program: ProductProgram, overrides: Mapping[str, Any]
) -> Process:
    """Return the process of `program`, with `overrides` of its file in hack/config.

    The program's code is part of the fingerprint, so that `make up` restarts it after an edit.
    """
    template = (ROOT / "hack" / "config" / f"{program.name}.yaml").read_text()
    text = yaml.safe_dump({**yaml.safe_load(template), **overrides}, sort_keys=False)
    path = config_path(state_dir, program)
    write_atomic(path, text)
    command = Command(
        name=program.name,
        arguments=(sys.executable, "-m", program.module, "--config", str(path)),
        environment=ENVIRONMENT,
        fingerprint_inputs=(text, code_digest(program.packages)),
    )
    return Process(command, state_dir)


def exec_program(state_dir: Path, program: ProductProgram, flags: Sequence[str]) -> NoReturn:
    """Replace this process by one more process of `program`, which `make down` also stops."""
    path = config_path(state_dir, program)
    if not path.exists():
        raise ClusterError("the local system is not set up; run make up first")
    marks = {STATE_DIR_VARIABLE: str(state_dir), PROCESS_NAME_VARIABLE: f"{program.name} (extra)"}
    os.execve(  # noqa: S606 - no shell is the point
        sys.executable,
        [sys.executable, "-m", program.module, "--config", str(path), *flags],
        {**os.environ, **ENVIRONMENT, **marks},
    )


def code_digest(packages: Iterable[str]) -> str:
    """Return a digest of the files of these packages."""
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def program_url(ports: Mapping[str, int], program: ProductProgram) -> str:
    return f"http://{HOST}:{ports[program.name]}"


def nats_settings(nats_server: NATSServer, user: str) -> dict[str, str]:
    """Return the queue settings of a program."""
    return {
        "url": nats_server.url,
        "user": user,
        "passwordFile": str(nats_server.password_file(user)),
    }
