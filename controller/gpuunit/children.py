"""The children that a unit shall have, in the order in which they are made."""

from collections.abc import Mapping
from typing import Any

from controller.caches import Caches
from controller.child import Child, child, stamped
from controller.gpuunit.deployment import deployment
from controller.gpuunit.labels import added_labels, own_labels
from controller.gpuunit.network_policy import network_policy
from controller.gpuunit.rollout import gives_way
from controller.gpuunit.service import service
from controller.gpuunit.settings import UnitSettings
from controller.gpuunit.workload import Workload
from controller.kinds import DEPLOYMENTS, NETWORK_POLICIES, SERVICES
from controller.runtime.covering import covers
from controller.runtime.digest import digest
from controller.runtime.key import ObjectKey
from shared import names
from shared.deployment import Deployment
from shared.reasons import UnitReason
from shared.v1alpha1.gpuunit import GPUUnit
from shared.wellknown import APPLIED_HASH


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
    body = asked_for(unit, settings, live)
    fingerprint = digest(body)
    if live is not None and is_rolled_out(live, body, fingerprint) and gives_way(unit, workload):
        labels = template_labels(body["spec"])
        body = deployment(unit, settings, labels, giving_way=True)
    return Child(DEPLOYMENTS, stamped(body, fingerprint), live, UnitReason.DEPLOYMENT_SYNC_FAILED)


def asked_for(unit: GPUUnit, settings: UnitSettings, live: Deployment | None) -> dict[str, Any]:
    """The Deployment of the spec; added labels alone restart nobody's pod.

    They reach the pods when something else does.
    """
    if live is not None:
        mine = own_labels(unit)
        labels = {
            name: value for name, value in template_labels(live.spec).items() if name not in mine
        }
        body = deployment(unit, settings, labels, giving_way=False)
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


def child_key(unit: GPUUnit) -> ObjectKey:
    return ObjectKey(unit.metadata.namespace, names.unit_child(unit.metadata.name))
