"""The one container of a unit's pod."""

from typing import Any, Final

from controller.apply.drop_empty import non_empty
from controller.apply.pod_security import locked_down_container
from controller.gpuunit.resources.environment import environment
from controller.gpuunit.resources.ports import ports
from controller.gpuunit.resources.requirements import resources
from controller.gpuunit.resources.shared_memory import shared_memory_mounts
from controller.gpuunit.resources.storage_volumes import storage_volume_mounts
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.template import Port, Template

NAME: Final = "unit"


def stock_container(unit: GPUUnit, pause_image: str) -> dict[str, Any]:
    """Does nothing but hold the place."""
    return _container(unit, pause_image)


def active_container(unit: GPUUnit) -> dict[str, Any]:
    """Runs the user's program."""
    template = unit.spec.template or Template()
    mounts = storage_volume_mounts(unit.spec.storage_mounts)
    workload = {
        "command": list(template.command),
        "args": list(template.args),
        "env": environment(unit),
        "ports": [_port(port) for port in ports(unit)],
        "volumeMounts": [*shared_memory_mounts(unit.spec), *mounts],
    }
    return {**_container(unit, unit.spec.image), **non_empty(workload)}


def _container(unit: GPUUnit, image: str) -> dict[str, Any]:
    return {
        "name": NAME,
        "image": image,
        "resources": resources(unit.spec),
        "securityContext": locked_down_container(),
    }


def _port(port: Port) -> dict[str, Any]:
    return {"name": port.name, "containerPort": port.port, "protocol": port.protocol}
