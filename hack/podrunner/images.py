"""Which program stands for an image: there is no container engine to run the image itself."""

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
    """An image that nothing stands for, in a container that names no command."""


def runs_as_processes(pod: Pod) -> bool:
    """Whether the pod has processes; kwok's Stages decide the same for the pods that it plays."""
    program = pod.spec.containers[0].image if pod.spec.containers else ""
    is_simulated = SIMULATED_LABEL in pod.metadata.labels
    return program.startswith(LOCAL_IMAGE_PREFIX) and not is_simulated and bool(pod.spec.node_name)


def container_command(container: Container) -> tuple[str, ...]:
    """What to start; `python` is the one that runs us."""
    words = (*container.command, *container.args) or IMAGE_COMMANDS.get(container.image, ())
    if not words:
        known = ", ".join(IMAGE_COMMANDS)
        raise UnknownImageError(f"image {container.image} is not known here; there is {known}")
    return (sys.executable if words[0] == "python" else words[0], *words[1:])
