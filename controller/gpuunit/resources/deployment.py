"""Deployment of a unit."""

from collections.abc import Mapping
from typing import Any

from controller.gpuunit.labels import child_metadata, pod_selector
from controller.gpuunit.resources.pod import pod_template
from controller.gpuunit.settings import UnitSettings
from controller.runtime import key_of
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit


def deployment_manifest(
    unit: GPUUnit,
    settings: UnitSettings,
    extra_labels: Mapping[str, str],
    *,
    stop_old_pod_first: bool,
) -> dict[str, Any]:
    """Build a Deployment of one pod; with `stop_old_pod_first` none may run during a rollout."""
    is_stock = settings.namespaces.is_stock(key_of(unit))
    return {
        "metadata": child_metadata(unit, names.unit_child_name(unit.metadata.name)),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": pod_selector(unit)},
            "strategy": {"type": "Recreate"}
            if is_stock
            else _rolling_update(int(stop_old_pod_first)),
            "template": pod_template(unit, settings, extra_labels),
        },
    }


def _rolling_update(max_unavailable: int) -> dict[str, Any]:
    return {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": max_unavailable},
    }
