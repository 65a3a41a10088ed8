"""The pod of a unit."""

from collections.abc import Mapping
from typing import Any

from controller.apply.drop_empty import non_empty
from controller.apply.pod_security import locked_down_pod
from controller.gpuunit.labels import own_labels
from controller.gpuunit.resources.container import active_container, stock_container
from controller.gpuunit.resources.requirements import node_choice, preference_for
from controller.gpuunit.resources.shared_memory import shared_memory_volumes
from controller.gpuunit.resources.storage_volumes import storage_volumes
from controller.gpuunit.resources.worker_pod import worker_pod
from controller.gpuunit.settings import UnitSettings
from controller.runtime.client.kind import key_of
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit


def pod_template(
    unit: GPUUnit, settings: UnitSettings, added_labels: Mapping[str, str]
) -> dict[str, Any]:
    """What the Deployment of `unit` makes its pod of; of two equal labels ours wins."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    role = _stock(unit, settings.pause_image) if is_stock else _active(unit)
    spec = {**locked_down_pod(), **node_choice(unit.spec), **role}
    serverless = None if is_stock else unit.spec.serverless
    return {
        "metadata": {"labels": {**added_labels, **own_labels(unit)}},
        "spec": spec if serverless is None else worker_pod(spec, unit, serverless, settings),
    }


def _stock(unit: GPUUnit, pause_image: str) -> dict[str, Any]:
    return {
        "priorityClassName": wellknown.STOCK_PRIORITY,
        "terminationGracePeriodSeconds": 1,  # a user waits for the place
        "containers": [stock_container(unit, pause_image)],
    }


def _active(unit: GPUUnit) -> dict[str, Any]:
    spec = unit.spec
    volumes = [*shared_memory_volumes(spec), *storage_volumes(spec.storage_mounts)]
    optional = {
        "affinity": preference_for(unit.metadata.annotations.get(wellknown.ADMITTED, "")),
        "imagePullSecrets": [{"name": name} for name in spec.image_pull_secrets],
        "volumes": volumes,
    }
    return {
        "priorityClassName": wellknown.ACTIVE_PRIORITY,
        "containers": [active_container(unit)],
        **non_empty(optional),
    }
