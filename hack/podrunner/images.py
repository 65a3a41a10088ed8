"""The programs that replace images, because there is no container engine."""

import sys
from collections.abc import Mapping
from typing import Final

from hack.podrunner.pod import Container, Pod

LOCAL_IMAGE_PREFIX: Final = "local/"
IMAGE_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "local/echo": ("python", "-m", "serverless.framework.echo"),
}
SIMULATED_LABEL: Final = "sim.local/mode"


class UnknownImageError(Exception):
    """An image without a program, in a container without a command."""


def runs_as_processes(pod: Pod) -> bool:
    """Return whether the pod has processes; the Stages of kwok leave out the same pods."""
    image = pod.spec.containers[0].image if pod.spec.containers else ""
    is_simulated = SIMULATED_LABEL in pod.metadata.labels
    return image.startswith(LOCAL_IMAGE_PREFIX) and not is_simulated and bool(pod.spec.node_name)


def container_command(container: Container) -> tuple[str, ...]:
    """Return the command to start, with this Python for `python`; raises UnknownImageError."""
    command = (*container.command, *container.args) or IMAGE_COMMANDS.get(container.image, ())
    if not command:
        known = ", ".join(IMAGE_COMMANDS)
        raise UnknownImageError(f"unknown image {container.image}; the pod runner knows {known}")
    return (sys.executable if command[0] == "python" else command[0], *command[1:])
