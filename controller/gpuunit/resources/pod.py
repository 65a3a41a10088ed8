"""The pod of a unit."""

from collections.abc import Mapping
from typing import Any

from controller.apply.drop_empty import drop_empty
from controller.apply.pod_security import pod_security_fields
from controller.gpuunit.labels import child_labels
from controller.gpuunit.resources.container import active_container, stock_container
from controller.gpuunit.resources.requirements import node_constraints, preferred_node_affinity
from controller.gpuunit.resources.shared_memory import shared_memory_volumes
from controller.gpuunit.resources.storage_volumes import storage_volumes
from controller.gpuunit.resources.worker_pod import worker_pod_spec
from controller.gpuunit.settings import UnitSettings
from controller.runtime.client.kind import key_of
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit


def pod_template(
    unit: GPUUnit, settings: UnitSettings, extra_labels: Mapping[str, str]
) -> dict[str, Any]:
    """What the Deployment of `unit` makes its pod of; of two equal labels ours wins."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    role = _stock_pod_spec(unit, settings.pause_image) if is_stock else _active_pod_spec(unit)
    spec = {**pod_security_fields(), **node_constraints(unit.spec), **role}
    serverless = None if is_stock else unit.spec.serverless
    return {
        "metadata": {"labels": {**extra_labels, **child_labels(unit)}},
        "spec": spec if serverless is None else worker_pod_spec(spec, unit, serverless, settings),
    }


def _stock_pod_spec(unit: GPUUnit, pause_image: str) -> dict[str, Any]:
    return {
        "priorityClassName": wellknown.STOCK_PRIORITY_CLASS,
        "terminationGracePeriodSeconds": 1,  # a user waits for the place
        "containers": [stock_container(unit, pause_image)],
    }


def _active_pod_spec(unit: GPUUnit) -> dict[str, Any]:
    spec = unit.spec
    volumes = [*shared_memory_volumes(spec), *storage_volumes(spec.storage_mounts)]
    optional = {
        "affinity": preferred_node_affinity(
            unit.metadata.annotations.get(wellknown.ADMITTED_ANNOTATION, "")
        ),
        "imagePullSecrets": [{"name": name} for name in spec.image_pull_secrets],
        "volumes": volumes,
    }
    return {
        "priorityClassName": wellknown.ACTIVE_PRIORITY_CLASS,
        "containers": [active_container(unit)],
        **drop_empty(optional),
    }
