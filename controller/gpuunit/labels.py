"""How the children of a unit are marked as its own."""

from typing import Any, Final

from controller.gpuunit.settings import UnitSettings
from controller.kinds import GPU_UNITS
from controller.runtime.client.kind import key_of
from controller.runtime.client.ownership import controlled_by
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reserved_labels import callers

APP_NAME: Final = "gpu-unit"


def own_labels(unit: GPUUnit) -> dict[str, str]:
    """What every child of `unit` has; a pool counts the pods of its units as well."""
    labels = {
        **selector(unit),
        wellknown.APP_NAME_LABEL: APP_NAME,
        wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY,
    }
    pool = unit.metadata.labels.get(wellknown.POOL_LABEL)
    return labels if pool is None else {**labels, wellknown.POOL_LABEL: pool}


def selector(unit: GPUUnit) -> dict[str, str]:
    """What selects the pods of `unit`; a Deployment's selector can never change."""
    return {wellknown.UNIT_LABEL: unit.metadata.name}


def added_labels(unit: GPUUnit, settings: UnitSettings) -> dict[str, str]:
    """What the pods of `unit` have besides: the caller's labels, and the function they work for."""
    theirs = callers(unit.metadata.labels)
    serverless = unit.spec.serverless
    if serverless is None or settings.namespaces.is_stock(key_of(unit)):
        return theirs
    return {**theirs, wellknown.FUNCTION_LABEL: serverless.request_id}


def child_metadata(unit: GPUUnit, name: str) -> dict[str, Any]:
    """The metadata of a child that goes when `unit` goes."""
    return {
        "namespace": unit.metadata.namespace,
        "name": name,
        "labels": own_labels(unit),
        "ownerReferences": [controlled_by(GPU_UNITS, unit)],
    }
