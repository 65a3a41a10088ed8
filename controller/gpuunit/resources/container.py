"""The one container of a unit's pod."""

from typing import Any, Final

from controller.apply.drop_empty import drop_empty
from controller.apply.pod_security import container_security_context
from controller.gpuunit.resources.environment import container_env
from controller.gpuunit.resources.ports import declared_ports
from controller.gpuunit.resources.requirements import container_resources
from controller.gpuunit.resources.shared_memory import shared_memory_mounts
from controller.gpuunit.resources.storage_volumes import storage_volume_mounts
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.template import Port, WorkloadTemplate

UNIT_CONTAINER: Final = "unit"


def stock_container(unit: GPUUnit, pause_image: str) -> dict[str, Any]:
    """Does nothing but hold the place."""
    return _base_container(unit, pause_image)


def active_container(unit: GPUUnit) -> dict[str, Any]:
    """Runs the user's program."""
    template = unit.spec.template or WorkloadTemplate()
    mounts = storage_volume_mounts(unit.spec.storage_mounts)
    workload = {
        "command": list(template.command),
        "args": list(template.args),
        "env": container_env(unit),
        "ports": [_container_port(port) for port in declared_ports(unit)],
        "volumeMounts": [*shared_memory_mounts(unit.spec), *mounts],
    }
    return {**_base_container(unit, unit.spec.image), **drop_empty(workload)}


def _base_container(unit: GPUUnit, image: str) -> dict[str, Any]:
    return {
        "name": UNIT_CONTAINER,
        "image": image,
        "resources": container_resources(unit.spec),
        "securityContext": container_security_context(),
    }


def _container_port(port: Port) -> dict[str, Any]:
    return {"name": port.name, "containerPort": port.port, "protocol": port.protocol}
