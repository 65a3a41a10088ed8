"""Pod of a unit: template, container, environment, ports, volumes.

The worker of a serverless unit is added in worker_pod.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from controller.apply.drop_empty import drop_empty
from controller.apply.pod_security import container_security_context, pod_security_fields
from controller.gpuunit.labels import child_labels
from controller.gpuunit.resources.requirements import (
    container_resources,
    node_constraints,
    preferred_node_affinity,
)
from controller.gpuunit.resources.sidecar import framework_env
from controller.gpuunit.resources.worker_pod import worker_pod_spec
from controller.gpuunit.settings import UnitSettings
from controller.runtime import key_of
from shared.k8s.quantity import NANOS_PER_UNIT, Quantity
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from shared.v1alpha1.mount import StorageMount
from shared.v1alpha1.template import EnvVar, Port, WorkloadTemplate
from shared.v1alpha1.validation.mounts import SHARED_MEMORY_PATH, normalise_path

UNIT_CONTAINER: Final = "unit"
SHARED_MEMORY_VOLUME: Final = "shared-memory"


def pod_template(
    unit: GPUUnit, settings: UnitSettings, extra_labels: Mapping[str, str]
) -> dict[str, Any]:
    """Build the pod template; of two equal labels the product's wins."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    role = _stock_pod_spec(unit, settings.pause_image) if is_stock else _active_pod_spec(unit)
    spec = {**pod_security_fields(), **node_constraints(unit.spec), **role}
    serverless = None if is_stock else unit.spec.serverless
    return {
        "metadata": {"labels": {**extra_labels, **child_labels(unit)}},
        "spec": spec if serverless is None else worker_pod_spec(spec, unit, serverless, settings),
    }


def _stock_pod_spec(unit: GPUUnit, pause_image: str) -> dict[str, Any]:
    """Build the pod of stock: it does nothing but hold its resources on a node."""
    return {
        "priorityClassName": wellknown.STOCK_PRIORITY_CLASS,
        "terminationGracePeriodSeconds": 1,  # a user waits for the node
        "containers": [_base_container(unit, pause_image)],
    }


def _active_pod_spec(unit: GPUUnit) -> dict[str, Any]:
    """Build the pod that runs the user's program."""
    spec = unit.spec
    volumes = [*_shared_memory_volumes(spec), *_storage_volumes(spec.storage_mounts)]
    optional = {
        "affinity": preferred_node_affinity(
            unit.metadata.annotations.get(wellknown.ADMITTED_ANNOTATION, "")
        ),
        "imagePullSecrets": [{"name": name} for name in spec.image_pull_secrets],
        "volumes": volumes,
    }
    return {
        "priorityClassName": wellknown.ACTIVE_PRIORITY_CLASS,
        "containers": [_active_container(unit)],
        **drop_empty(optional),
    }


def _active_container(unit: GPUUnit) -> dict[str, Any]:
    """Build the container of the user's program."""
    template = unit.spec.template or WorkloadTemplate()
    mounts = [_storage_volume_mount(mount) for mount in unit.spec.storage_mounts]
    workload = {
        "command": list(template.command),
        "args": list(template.args),
        "env": _container_env(unit),
        "ports": [_container_port(port) for port in declared_ports(unit)],
        "volumeMounts": [*_shared_memory_mounts(unit.spec), *mounts],
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


def _container_env(unit: GPUUnit) -> list[dict[str, Any]]:
    """List the environment: ours first, so that the user's can refer to it; the user's wins."""
    user_variables = () if unit.spec.template is None else unit.spec.template.envs
    user_names = {variable.name for variable in user_variables}
    defaults = [variable for variable in _default_env(unit) if variable.name not in user_names]
    return [msgspec.to_builtins(variable) for variable in (*defaults, *user_variables)]


def _default_env(unit: GPUUnit) -> list[EnvVar]:
    values = {
        "UNIT_NAME": unit.metadata.name,
        "SPEC_NAME": unit.spec.spec_name,
        "GPU_COUNT": str(unit.spec.gpu),
        "MEMORY_LIMIT": unit.spec.memory,
        **framework_env(unit.spec.serverless),
    }
    return [EnvVar(name=name, value=value) for name, value in values.items()]


def declared_ports(unit: GPUUnit) -> tuple[Port, ...]:
    """Return the ports that the user's program listens on."""
    return () if unit.spec.template is None else unit.spec.template.ports


def _shared_memory_volumes(spec: GPUUnitSpec) -> list[dict[str, Any]]:
    """Build the volume of /dev/shm, as frameworks need more than the 64 MiB of a container.

    Empty if the user mounts a storage there.
    """
    if _is_mounted_by_user(spec):
        return []
    return [
        {
            "name": SHARED_MEMORY_VOLUME,
            "emptyDir": {"medium": "Memory", "sizeLimit": str(_shared_memory_size(spec))},
        }
    ]


def _shared_memory_mounts(spec: GPUUnitSpec) -> list[dict[str, Any]]:
    """Mount that volume, if there is one."""
    return (
        []
        if _is_mounted_by_user(spec)
        else [{"name": SHARED_MEMORY_VOLUME, "mountPath": SHARED_MEMORY_PATH}]
    )


def _is_mounted_by_user(spec: GPUUnitSpec) -> bool:
    return any(
        normalise_path(mount.mount_path) == SHARED_MEMORY_PATH for mount in spec.storage_mounts
    )


def _shared_memory_size(spec: GPUUnitSpec) -> Quantity:
    if spec.shm_size:
        return Quantity.parse(spec.shm_size)
    half = (Quantity.parse(spec.memory).whole_units + 1) // 2  # never 0, which would be no limit
    return Quantity(half * NANOS_PER_UNIT)


def _storage_volumes(mounts: Sequence[StorageMount]) -> list[dict[str, Any]]:
    """Build one volume per storage; its PersistentVolumeClaim has the storage's name."""
    return [
        {
            "name": names.storage_volume_name(storage),
            "persistentVolumeClaim": {"claimName": storage},
        }
        for storage in dict.fromkeys(mount.name for mount in mounts)
    ]


def _storage_volume_mount(mount: StorageMount) -> dict[str, Any]:
    volume_mount = {
        "name": names.storage_volume_name(mount.name),
        "mountPath": normalise_path(mount.mount_path),
    }
    return {**volume_mount, "readOnly": True} if mount.read_only else volume_mount
