"""Labels and owner references of the children of a unit."""

from typing import Any, Final

from controller.gpuunit.settings import UnitSettings
from controller.kinds import GPU_UNITS
from controller.runtime import controller_reference, key_of
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reserved_labels import user_labels

APP_NAME: Final = "gpu-unit"


def child_labels(unit: GPUUnit) -> dict[str, str]:
    """Return the labels of every child of `unit`; a pool also counts the pods of its units."""
    labels = {
        **pod_selector(unit),
        wellknown.APP_NAME_LABEL: APP_NAME,
        wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
    }
    pool = unit.metadata.labels.get(wellknown.POOL_LABEL)
    return labels if pool is None else {**labels, wellknown.POOL_LABEL: pool}


def pod_selector(unit: GPUUnit) -> dict[str, str]:
    """Return the selector of the pods of `unit`; the selector of a Deployment is immutable."""
    return {wellknown.UNIT_LABEL: unit.metadata.name}


def extra_pod_labels(unit: GPUUnit, settings: UnitSettings) -> dict[str, str]:
    """Return the further pod labels of `unit`: the caller's labels, and the function."""
    labels = user_labels(unit.metadata.labels)
    serverless = unit.spec.serverless
    if serverless is None or settings.namespaces.is_stock(key_of(unit)):
        return labels
    return {**labels, wellknown.FUNCTION_LABEL: serverless.function_name}


def child_metadata(unit: GPUUnit, name: str) -> dict[str, Any]:
    """Build the metadata of a child that is deleted together with `unit`."""
    return {
        "namespace": unit.metadata.namespace,
        "name": name,
        "labels": child_labels(unit),
        "ownerReferences": [controller_reference(GPU_UNITS, unit)],
    }
