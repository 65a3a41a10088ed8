"""The children that a unit shall have, in the order in which they are made."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.apply.child import Child, child, stamped
from controller.caches import Caches
from controller.gpuunit.labels import added_labels, own_labels
from controller.gpuunit.resources import sidecar
from controller.gpuunit.resources.deployment import deployment
from controller.gpuunit.resources.network_policy import network_policy
from controller.gpuunit.resources.service import service
from controller.gpuunit.scheduling.rollout import gives_way
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.status.diagnosis import image_trouble
from controller.gpuunit.workload import Workload
from controller.kinds import DEPLOYMENTS, NETWORK_POLICIES, SERVICES
from controller.runtime.digest import digest
from controller.runtime.key import ObjectKey
from controller.runtime.subset import covers
from shared.k8s.deployment import Deployment
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.reasons import UnitReason
from shared.v1alpha1.wellknown import APPLIED_HASH


def policy_child(unit: GPUUnit, caches: Caches, settings: UnitSettings) -> Child:
    """Made first: no pod shall run a moment without it."""
    key = ObjectKey(unit.metadata.namespace, names.egress(unit.metadata.name))
    return child(
        NETWORK_POLICIES,
        network_policy(unit, settings),
        caches.policies.get(key),
        UnitReason.NETWORK_POLICY_SYNC_FAILED,
    )


def service_child(unit: GPUUnit, caches: Caches) -> Child | None:
    """None for a unit without ports."""
    body = service(unit)
    if body is None:
        return None
    live = caches.services.get(child_key(unit))
    return child(SERVICES, body, live, UnitReason.SERVICE_SYNC_FAILED)


def deployment_child(
    unit: GPUUnit, caches: Caches, settings: UnitSettings, workload: Workload
) -> Child:
    """Its hash leaves out whether the old pod gives way: that comes and goes in every rollout."""
    live = caches.deployments.get(child_key(unit))
    body = asked_for(unit, settings, live, workload)
    fingerprint = digest(body)
    if live is not None and is_rolled_out(live, body, fingerprint) and gives_way(unit, workload):
        labels, same = template_labels(body["spec"]), with_worker_of(settings, body["spec"])
        body = deployment(unit, same, labels, giving_way=True)
    return Child(DEPLOYMENTS, stamped(body, fingerprint), live, UnitReason.DEPLOYMENT_SYNC_FAILED)


def asked_for(
    unit: GPUUnit, settings: UnitSettings, live: Deployment | None, workload: Workload
) -> dict[str, Any]:
    """The Deployment of the spec; added labels or a new worker's image restart nobody's pod.

    They reach the pods when something else does, or where the worker's image cannot be had.
    """
    if live is not None:
        same = settings if lacks_image(workload) else with_worker_of(settings, live.spec)
        mine = own_labels(unit)
        labels = {
            name: value for name, value in template_labels(live.spec).items() if name not in mine
        }
        body = deployment(unit, same, labels, giving_way=False)
        if live.metadata.annotations.get(APPLIED_HASH) == digest(body):
            return body
    return deployment(unit, settings, added_labels(unit, settings), giving_way=False)


def is_rolled_out(live: Deployment, body: Mapping[str, Any], fingerprint: str) -> bool:
    """Whether the Deployment has this template; before that no pod gives way to it."""
    return live.metadata.annotations.get(APPLIED_HASH) == fingerprint and covers(
        live.spec.get("template", {}), body["spec"]["template"]
    )


def template_labels(spec: Mapping[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = spec.get("template", {}).get("metadata", {}).get("labels") or {}
    return labels


def with_worker_of(settings: UnitSettings, spec: Mapping[str, Any]) -> UnitSettings:
    """The settings with the worker's image of a Deployment, if that has one."""
    beside = spec.get("template", {}).get("spec", {}).get("initContainers") or []
    found = next((each["image"] for each in beside if each["name"] == sidecar.NAME), None)
    if found is None:
        return settings
    return replace(settings, sidecar=replace(settings.sidecar, image=found))


def lacks_image(workload: Workload) -> bool:
    """Whether the image of a worker cannot be had."""
    workers = [each for pod in workload.current for each in pod.status.init_container_statuses]
    return any(map(image_trouble, workers))


def child_key(unit: GPUUnit) -> ObjectKey:
    return ObjectKey(unit.metadata.namespace, names.unit_child(unit.metadata.name))
