"""What runs for a unit right now: its Deployment and the pods of it, newest revision apart."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.caches import BY_OWNER, BY_UNIT, Caches
from controller.runtime.client.ownership import is_controlled_by
from controller.runtime.key import ObjectKey
from shared.k8s.deployment import REVISION, Deployment, ReplicaSet
from shared.k8s.pod import Pod
from shared.v1alpha1 import names
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.wellknown import APPLIED_HASH

FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Workload:
    """`current` are the pods of what the Deployment asks for now, `previous` all others.

    A pod that is being deleted counts among the previous: what it holds can be passed on.
    """

    deployment: Deployment | None = None
    current: tuple[Pod, ...] = ()
    previous: tuple[Pod, ...] = ()

    @property
    def is_observed(self) -> bool:
        """Whether the deployment controller has seen what we asked for last."""
        deployment = self.deployment
        return deployment is not None and (
            deployment.status.observed_generation >= deployment.metadata.generation
        )

    @property
    def pending(self) -> Pod | None:
        """The pod that has no node yet."""
        return next((pod for pod in self.current if not pod.spec.node_name), None)

    @property
    def ready(self) -> tuple[Pod, ...]:
        """Pods that do their work."""
        return tuple(pod for pod in self.current if is_ready(pod))

    @property
    def holders(self) -> tuple[Pod, ...]:
        """Previous pods that still hold a place on a node."""
        return tuple(pod for pod in self.previous if pod.spec.node_name)

    @property
    def standing(self) -> tuple[Pod, ...]:
        """Holders that nobody has told to go."""
        return tuple(pod for pod in self.holders if pod.metadata.deletion_timestamp is None)

    @property
    def seated(self) -> tuple[Pod, ...]:
        """Pods on nodes that nobody has told to go, also while their revision is not known."""
        return (*(pod for pod in self.current if pod.spec.node_name), *self.standing)

    @property
    def superseded(self) -> tuple[Pod, ...]:
        """Previous pods that never got a node, but for which a place is kept."""
        return tuple(
            pod
            for pod in self.previous
            if not pod.spec.node_name
            and pod.status.nominated_node_name
            and pod.metadata.deletion_timestamp is None
        )


def observe(caches: Caches, unit: GPUUnit) -> Workload:
    """Read the caches; a Deployment that is not the unit's counts as none."""
    meta = unit.metadata
    deployment = caches.deployments.get(ObjectKey(meta.namespace, names.unit_child(meta.name)))
    if deployment is not None and not is_controlled_by(deployment.metadata, [meta.uid]):
        deployment = None
    pods = [
        pod
        for pod in caches.pods.by_index(meta.namespace, BY_UNIT, meta.name)
        if pod.status.phase not in FINISHED
    ]
    revision = None if deployment is None else current_revision(caches, deployment)
    newest = [] if revision is None else [revision.metadata.uid]
    current = tuple(pod for pod in pods if is_living_of(pod, newest))
    return Workload(deployment, current, tuple(pod for pod in pods if pod not in current))


def current_revision(caches: Caches, deployment: Deployment) -> ReplicaSet | None:
    """The ReplicaSet of the template as it is now; none before the controller has made it.

    The deployment controller copies our hash to it at once, and reports on itself much later. Two
    have the same hash when somebody else has changed the template: then only the report tells.
    """
    meta = deployment.metadata
    owned = caches.replica_sets.by_index(meta.namespace, BY_OWNER, meta.uid)
    asked_for = annotation(deployment, APPLIED_HASH)
    same = [each for each in owned if annotation(each, APPLIED_HASH) == asked_for]
    if len(same) <= 1:
        return next(iter(same), None)
    if deployment.status.observed_generation < meta.generation or is_held_back(deployment):
        return None
    number = annotation(deployment, REVISION)
    return next((each for each in same if annotation(each, REVISION) == number), None)


def annotation(subject: Deployment | ReplicaSet, name: str) -> str | None:
    return subject.metadata.annotations.get(name)


def is_held_back(deployment: Deployment) -> bool:
    """Whether somebody paused it before the template as it is now had a ReplicaSet.

    Its revision is that of an older template then.
    """
    return bool(deployment.spec.get("paused")) and deployment.status.updated_replicas == 0


def is_living_of(pod: Pod, owners: Iterable[str]) -> bool:
    return pod.metadata.deletion_timestamp is None and is_controlled_by(pod.metadata, owners)


def is_ready(pod: Pod) -> bool:
    return any(found.type == "Ready" and found.status == "True" for found in pod.status.conditions)
