"""What runs for a unit right now: its Deployment and the pods of it, newest revision apart."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.caches import BY_OWNER, BY_UNIT, Caches
from controller.runtime.client.ownership import is_controlled_by
from controller.runtime.key import ObjectKey
from shared.k8s.deployment import REVISION_ANNOTATION, Deployment, ReplicaSet
from shared.k8s.pod import Pod
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import APPLIED_HASH_ANNOTATION

FINISHED_PHASES = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Workload:
    """`current` are the pods of what the Deployment asks for now, `previous` all others.

    A pod that is being deleted counts among the previous: what it holds can be passed on.
    """

    deployment: Deployment | None = None
    current_pods: tuple[Pod, ...] = ()
    previous_pods: tuple[Pod, ...] = ()

    @property
    def is_generation_observed(self) -> bool:
        """Whether the deployment controller has seen what we asked for last."""
        deployment = self.deployment
        return deployment is not None and (
            deployment.status.observed_generation >= deployment.metadata.generation
        )

    @property
    def pending_pod(self) -> Pod | None:
        """The pod that has no node yet."""
        return next((pod for pod in self.current_pods if not pod.spec.node_name), None)

    @property
    def ready_pods(self) -> tuple[Pod, ...]:
        """Pods that do their work."""
        return tuple(pod for pod in self.current_pods if is_pod_ready(pod))

    @property
    def scheduled_previous_pods(self) -> tuple[Pod, ...]:
        """Previous pods that still hold a place on a node."""
        return tuple(pod for pod in self.previous_pods if pod.spec.node_name)

    @property
    def retained_previous_pods(self) -> tuple[Pod, ...]:
        """Holders that nobody has told to go."""
        return tuple(
            pod for pod in self.scheduled_previous_pods if pod.metadata.deletion_timestamp is None
        )

    @property
    def scheduled_pods(self) -> tuple[Pod, ...]:
        """Pods on nodes that nobody has told to go, also while their revision is not known."""
        return (
            *(pod for pod in self.current_pods if pod.spec.node_name),
            *self.retained_previous_pods,
        )

    @property
    def nominated_previous_pods(self) -> tuple[Pod, ...]:
        """Previous pods that never got a node, but for which a place is kept."""
        return tuple(
            pod
            for pod in self.previous_pods
            if not pod.spec.node_name
            and pod.status.nominated_node_name
            and pod.metadata.deletion_timestamp is None
        )


def observe_workload(caches: Caches, unit: GPUUnit) -> Workload:
    """Read the caches; a Deployment that is not the unit's counts as none."""
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
    """The ReplicaSet of the template as it is now; none before the controller has made it.

    The deployment controller copies our hash to it at once, and reports on itself much later. Two
    have the same hash when somebody else has changed the template: then only the report tells.
    """
    meta = deployment.metadata
    owned = caches.replica_sets.by_index(meta.namespace, BY_OWNER, meta.uid)
    asked_for = annotation_of(deployment, APPLIED_HASH_ANNOTATION)
    same = [each for each in owned if annotation_of(each, APPLIED_HASH_ANNOTATION) == asked_for]
    if len(same) <= 1:
        return next(iter(same), None)
    if deployment.status.observed_generation < meta.generation or is_paused_before_rollout(
        deployment
    ):
        return None
    number = annotation_of(deployment, REVISION_ANNOTATION)
    return next((each for each in same if annotation_of(each, REVISION_ANNOTATION) == number), None)


def annotation_of(target: Deployment | ReplicaSet, name: str) -> str | None:
    return target.metadata.annotations.get(name)


def is_paused_before_rollout(deployment: Deployment) -> bool:
    """Whether somebody paused it before the template as it is now had a ReplicaSet.

    Its revision is that of an older template then.
    """
    return bool(deployment.spec.get("paused")) and deployment.status.updated_replicas == 0


def is_live_pod_of(pod: Pod, owner_uids: Iterable[str]) -> bool:
    return pod.metadata.deletion_timestamp is None and is_controlled_by(pod.metadata, owner_uids)


def is_pod_ready(pod: Pod) -> bool:
    return any(found.type == "Ready" and found.status == "True" for found in pod.status.conditions)


def bound_or_nominated_node(pod: Pod) -> str:
    """The node that the pod is on, or that is kept for it."""
    return pod.spec.node_name or pod.status.nominated_node_name
