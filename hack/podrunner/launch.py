"""The start of a container's process, with the environment and the local ports of its pod.

All pods share the loopback address, so each port of a pod is mapped to a free one.
"""

import asyncio
import os
import re
import subprocess
from asyncio.subprocess import Process
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from hack.cluster.ports import HOST, FreePorts
from hack.cluster.process import PROCESS_NAME_VARIABLE, STATE_DIR_VARIABLE
from hack.local.state_dir import ROOT
from hack.podrunner.images import container_command
from hack.podrunner.pod import Container, EnvVar, Pod, Secret
from hack.podrunner.pod_directory import PodDirectory

INHERITED_VARIABLES = ("PATH", "LANG", "TZ")
_LISTEN_ADDRESS: Final = re.compile(r"(?:0\.0\.0\.0|\[::\])?:(\d+)")


async def launch_container(
    state_dir: Path,
    pod: Pod,
    container: Container,
    environment: Mapping[str, str],
) -> Process:
    """Start the process in the folder of its pod; its output goes to a log beside the others."""
    log_path = state_dir / "logs" / f"{pod.metadata.name}.{container.name}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    marks = {
        STATE_DIR_VARIABLE: str(state_dir),
        PROCESS_NAME_VARIABLE: f"{pod.metadata.name}/{container.name}",
    }
    with log_path.open("ab") as log:
        return await asyncio.create_subprocess_exec(
            *container_command(container),
            cwd=PodDirectory(state_dir, pod).path,
            env={**inherited_environment(), **environment, **marks},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def inherited_environment() -> dict[str, str]:
    """Return the few variables that a container inherits from the runner."""
    inherited = {name: os.environ[name] for name in INHERITED_VARIABLES if name in os.environ}
    return {**inherited, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}


def container_environment(
    container: Container,
    pod_directory: PodDirectory,
    port_map: Mapping[int | str, int],
    secrets: Mapping[str, Secret],
) -> dict[str, str]:
    """Return the variables of the container, with paths and ports of this machine."""
    values = {variable.name: variable_value(variable, secrets) for variable in container.env}
    return {
        name: map_listen_address(pod_directory.map_path(container, value), port_map)
        for name, value in values.items()
    }


def variable_value(variable: EnvVar, secrets: Mapping[str, Secret]) -> str:
    source = variable.value_from
    if source is None or source.secret_key_ref is None:
        return variable.value
    return secrets[source.secret_key_ref.name].data[source.secret_key_ref.key].decode()


def allocate_ports(containers: Iterable[Container], free_ports: FreePorts) -> dict[int | str, int]:
    """Allocate a free port for each port that the containers declare."""
    declared = (port.container_port for container in containers for port in container.ports)
    return {port: free_ports.take() for port in declared}


def map_listen_address(value: str, port_map: Mapping[int | str, int]) -> str:
    """Return the local address of a pod's wildcard listen address; any other value is unchanged."""
    match = _LISTEN_ADDRESS.fullmatch(value)
    if match is None or int(match[1]) not in port_map:
        return value
    return f"{HOST}:{port_map[int(match[1])]}"
