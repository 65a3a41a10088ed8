"""How the children of a unit are marked as its own."""

from typing import Any, Final

from controller.gpuunit.settings import UnitSettings
from controller.kinds import GPU_UNITS
from controller.runtime import controller_reference, key_of
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reserved_labels import user_labels

APP_NAME: Final = "gpu-unit"


def child_labels(unit: GPUUnit) -> dict[str, str]:
    """What every child of `unit` has; a pool counts the pods of its units as well."""
    labels = {
        **pod_selector(unit),
        wellknown.APP_NAME_LABEL: APP_NAME,
        wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE,
    }
    pool = unit.metadata.labels.get(wellknown.POOL_LABEL)
    return labels if pool is None else {**labels, wellknown.POOL_LABEL: pool}


def pod_selector(unit: GPUUnit) -> dict[str, str]:
    """What selects the pods of `unit`; a Deployment's selector can never change."""
    return {wellknown.UNIT_LABEL: unit.metadata.name}


def extra_pod_labels(unit: GPUUnit, settings: UnitSettings) -> dict[str, str]:
    """What the pods of `unit` have besides: the caller's labels, and the function they work for."""
    theirs = user_labels(unit.metadata.labels)
    serverless = unit.spec.serverless
    if serverless is None or settings.namespaces.is_stock(key_of(unit)):
        return theirs
    return {**theirs, wellknown.FUNCTION_LABEL: serverless.function_name}


def child_metadata(unit: GPUUnit, name: str) -> dict[str, Any]:
    """The metadata of a child that goes when `unit` goes."""
    return {
        "namespace": unit.metadata.namespace,
        "name": name,
        "labels": child_labels(unit),
        "ownerReferences": [controller_reference(GPU_UNITS, unit)],
    }
