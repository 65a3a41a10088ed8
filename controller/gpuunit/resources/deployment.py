"""The Deployment of a unit."""

from collections.abc import Mapping
from typing import Any

from controller.gpuunit.labels import child_metadata, selector
from controller.gpuunit.resources.pod import pod_template
from controller.gpuunit.settings import UnitSettings
from controller.runtime.client.kind import key_of
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit


def deployment(
    unit: GPUUnit, settings: UnitSettings, added_labels: Mapping[str, str], *, giving_way: bool
) -> dict[str, Any]:
    """Keeps one pod of `unit`; `giving_way` lets the old pod go before the new one runs."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    return {
        "metadata": child_metadata(unit, names.unit_child(unit.metadata.name)),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": selector(unit)},
            "strategy": {"type": "Recreate"} if is_stock else _rolling(int(giving_way)),
            "template": pod_template(unit, settings, added_labels),
        },
    }


def _rolling(unavailable: int) -> dict[str, Any]:
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": unavailable},
    }
