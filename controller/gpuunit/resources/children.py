"""Desired children of a unit, in the order in which they are applied."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.apply.child import Child, make_child, with_applied_hash
from controller.caches import Caches
from controller.gpuunit.labels import child_labels, extra_pod_labels
from controller.gpuunit.observation import Observation
from controller.gpuunit.resources import sidecar
from controller.gpuunit.resources.deployment import deployment_manifest
from controller.gpuunit.resources.network_policy import network_policy_manifest
from controller.gpuunit.resources.service import service_manifest
from controller.gpuunit.scheduling.rollout import should_stop_old_pod_first
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.workload import Workload
from controller.kinds import DEPLOYMENTS, NETWORK_POLICIES, SERVICES
from controller.runtime import ObjectKey, contains_desired, json_digest
from controller.status.pod_diagnosis import has_image_error
from shared.k8s.deployment import Deployment
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.wellknown import APPLIED_HASH_ANNOTATION


def network_policy_child(unit: GPUUnit, caches: Caches, settings: UnitSettings) -> Child:
    """Build the NetworkPolicy; it is applied first, so that no pod runs without it."""
    key = ObjectKey(unit.metadata.namespace, names.egress_policy_name(unit.metadata.name))
    return make_child(
        NETWORK_POLICIES,
        network_policy_manifest(unit, settings),
        caches.network_policies.get(key),
        UnitReason.NETWORK_POLICY_SYNC_FAILED,
    )


def service_child(unit: GPUUnit, caches: Caches) -> Child | None:
    """Build the Service; None for a unit without ports."""
    body = service_manifest(unit)
    if body is None:
        return None
    live = caches.services.get(child_key(unit))
    return make_child(SERVICES, body, live, UnitReason.SERVICE_SYNC_FAILED)


def deployment_child(observation: Observation, caches: Caches, settings: UnitSettings) -> Child:
    """Build the Deployment; its hash ignores whether the old pod stops first.

    That setting changes twice in every rollout.
    """
    unit, workload = observation.unit, observation.workload
    live = caches.deployments.get(child_key(unit))
    body = desired_deployment(unit, settings, live, workload)
    desired_hash = json_digest(body)
    if (
        live is not None
        and is_template_applied(live, body, desired_hash)
        and should_stop_old_pod_first(unit, workload)
    ):
        labels = template_labels(body["spec"])
        live_settings = with_live_worker_image(settings, body["spec"])
        body = deployment_manifest(unit, live_settings, labels, stop_old_pod_first=True)
    return Child(
        DEPLOYMENTS, with_applied_hash(body, desired_hash), live, UnitReason.DEPLOYMENT_SYNC_FAILED
    )


def desired_deployment(
    unit: GPUUnit, settings: UnitSettings, live: Deployment | None, workload: Workload
) -> dict[str, Any]:
    """Build the manifest of the Deployment.

    Changed labels or a new image of the worker alone restart no pod: they are applied together
    with the next other change, or if the worker's image cannot be pulled.
    """
    if live is not None:
        live_settings = (
            settings
            if has_worker_image_error(workload)
            else with_live_worker_image(settings, live.spec)
        )
        ours = child_labels(unit)
        labels = {
            name: value for name, value in template_labels(live.spec).items() if name not in ours
        }
        body = deployment_manifest(unit, live_settings, labels, stop_old_pod_first=False)
        if live.metadata.annotations.get(APPLIED_HASH_ANNOTATION) == json_digest(body):
            return body
    return deployment_manifest(
        unit, settings, extra_pod_labels(unit, settings), stop_old_pod_first=False
    )


def is_template_applied(live: Deployment, body: Mapping[str, Any], desired_hash: str) -> bool:
    """Return whether the Deployment has this template; before that no old pod stops for it."""
    return live.metadata.annotations.get(
        APPLIED_HASH_ANNOTATION
    ) == desired_hash and contains_desired(live.spec.get("template", {}), body["spec"]["template"])


def template_labels(spec: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels of the pod template; empty without any."""
    labels: dict[str, str] = spec.get("template", {}).get("metadata", {}).get("labels") or {}
    return labels


def with_live_worker_image(settings: UnitSettings, spec: Mapping[str, Any]) -> UnitSettings:
    """Return the settings with the worker's image of a Deployment, if it has a worker."""
    containers = spec.get("template", {}).get("spec", {}).get("initContainers") or []
    images = [item["image"] for item in containers if item["name"] == sidecar.WORKER_CONTAINER]
    if not images:
        return settings
    return replace(settings, sidecar=replace(settings.sidecar, image=images[0]))


def has_worker_image_error(workload: Workload) -> bool:
    """Return whether the image of the worker cannot be pulled."""
    workers = [item for pod in workload.current_pods for item in pod.status.init_container_statuses]
    return any(map(has_image_error, workers))


def child_key(unit: GPUUnit) -> ObjectKey:
    """Return the key that the Deployment and the Service share."""
    return ObjectKey(unit.metadata.namespace, names.unit_child_name(unit.metadata.name))
