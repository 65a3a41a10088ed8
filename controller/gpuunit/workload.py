"""Workload of a unit: its Deployment and pods, with those of the newest revision apart."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.caches import BY_OWNER, BY_UNIT, Caches
from controller.runtime import ObjectKey, is_controlled_by
from shared.k8s.deployment import REVISION_ANNOTATION, Deployment, ReplicaSet
from shared.k8s.pod import Pod
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import APPLIED_HASH_ANNOTATION

FINISHED_PHASES = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Workload:
    """Deployment and pods of a unit at one moment.

    `current_pods` belong to the newest revision, `previous_pods` are all others. A pod that is
    being deleted is a previous one: its node can be passed on.
    """

    deployment: Deployment | None = None
    current_pods: tuple[Pod, ...] = ()
    previous_pods: tuple[Pod, ...] = ()

    @property
    def is_generation_observed(self) -> bool:
        """Return whether the deployment controller has observed the newest spec."""
        deployment = self.deployment
        return deployment is not None and (
            deployment.status.observed_generation >= deployment.metadata.generation
        )

    @property
    def pending_pod(self) -> Pod | None:
        """Return the current pod without a node; None if there is none."""
        return next((pod for pod in self.current_pods if not pod.spec.node_name), None)

    @property
    def ready_pods(self) -> tuple[Pod, ...]:
        """Return the current pods that are ready."""
        return tuple(pod for pod in self.current_pods if is_pod_ready(pod))

    @property
    def scheduled_previous_pods(self) -> tuple[Pod, ...]:
        """Return the previous pods that are on a node."""
        return tuple(pod for pod in self.previous_pods if pod.spec.node_name)

    @property
    def retained_previous_pods(self) -> tuple[Pod, ...]:
        """Return the previous pods on a node that are not being deleted."""
        return tuple(
            pod for pod in self.scheduled_previous_pods if pod.metadata.deletion_timestamp is None
        )

    @property
    def scheduled_pods(self) -> tuple[Pod, ...]:
        """Return all pods on nodes that are not being deleted, even without a known revision."""
        return (
            *(pod for pod in self.current_pods if pod.spec.node_name),
            *self.retained_previous_pods,
        )

    @property
    def nominated_previous_pods(self) -> tuple[Pod, ...]:
        """Return the previous pods that have no node but a nomination."""
        return tuple(
            pod
            for pod in self.previous_pods
            if not pod.spec.node_name
            and pod.status.nominated_node_name
            and pod.metadata.deletion_timestamp is None
        )


def observe_workload(caches: Caches, unit: GPUUnit) -> Workload:
    """Read the caches; a Deployment that the unit does not control counts as none."""
    meta = unit.metadata
    deployment = caches.deployments.get(ObjectKey(meta.namespace, names.unit_child_name(meta.name)))
    if deployment is not None and not is_controlled_by(deployment.metadata, [meta.uid]):
        deployment = None
    pods = [
        pod
        for pod in caches.pods.by_index(meta.namespace, BY_UNIT, meta.name)
        if pod.status.phase not in FINISHED_PHASES
    ]
    revision = None if deployment is None else current_replica_set(caches, deployment)
    newest = [] if revision is None else [revision.metadata.uid]
    current = tuple(pod for pod in pods if is_live_pod_of(pod, newest))
    return Workload(deployment, current, tuple(pod for pod in pods if pod not in current))


def current_replica_set(caches: Caches, deployment: Deployment) -> ReplicaSet | None:
    """Return the ReplicaSet of the current template; None until its controller has created it.

    The deployment controller copies our hash to it at once and updates its own status much later.
    Two ReplicaSets have the same hash if another client changed the template: then only the status
    of the Deployment tells which one is current.
    """
    meta = deployment.metadata
    owned = caches.replica_sets.by_index(meta.namespace, BY_OWNER, meta.uid)
    desired = annotation_of(deployment, APPLIED_HASH_ANNOTATION)
    sets = [item for item in owned if annotation_of(item, APPLIED_HASH_ANNOTATION) == desired]
    if len(sets) <= 1:
        return next(iter(sets), None)
    if deployment.status.observed_generation < meta.generation or is_paused_before_rollout(
        deployment
    ):
        return None
    number = annotation_of(deployment, REVISION_ANNOTATION)
    return next((item for item in sets if annotation_of(item, REVISION_ANNOTATION) == number), None)


def annotation_of(target: Deployment | ReplicaSet, name: str) -> str | None:
    """Return an annotation, or None."""
    return target.metadata.annotations.get(name)


def is_paused_before_rollout(deployment: Deployment) -> bool:
    """Return whether it was paused before the current template got a ReplicaSet.

    Its revision is then that of an older template.
    """
    return bool(deployment.spec.get("paused")) and deployment.status.updated_replicas == 0


def is_live_pod_of(pod: Pod, owner_uids: Iterable[str]) -> bool:
    """Return whether the pod has one of these owners and is not being deleted."""
    return pod.metadata.deletion_timestamp is None and is_controlled_by(pod.metadata, owner_uids)


def is_pod_ready(pod: Pod) -> bool:
    """Return whether the condition Ready is true."""
    return any(item.type == "Ready" and item.status == "True" for item in pod.status.conditions)


def bound_or_nominated_node(pod: Pod) -> str:
    """Return the node that the pod is on or nominated to; empty without either."""
    return pod.spec.node_name or pod.status.nominated_node_name
