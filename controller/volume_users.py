"""Users of the volume of a PVC, present and possible; accessors do not count."""

from collections.abc import Iterable
from typing import Final

from controller.caches import BY_PVC, Caches
from controller.runtime import ObjectKey
from shared.k8s.meta import ObjectMeta
from shared.k8s.pod import Pod
from shared.v1alpha1 import wellknown

ACCESSOR_APP_NAME: Final = "gpu-storage-accessor"
FINISHED_PHASES: Final = ("Succeeded", "Failed")


def pods_using_pvc(caches: Caches, pvc_key: ObjectKey) -> list[Pod]:
    """Return the pods that use or will use the volume."""
    pods = caches.pods.by_index(pvc_key.namespace, BY_PVC, pvc_key.name)
    return [pod for pod in pods if pvc_key.name in used_pvc_names(pod)]


def pvc_users(caches: Caches, pvc_key: ObjectKey) -> list[ObjectMeta]:
    """Return those pods, and the objects that may create one at any moment."""
    creators = [
        creator.metadata
        for cache in (caches.deployments, caches.replica_sets)
        for creator in cache.by_index(pvc_key.namespace, BY_PVC, pvc_key.name)
    ]
    pods = [pod.metadata for pod in pods_using_pvc(caches, pvc_key)]
    return [*pods, *(creator for creator in creators if not is_accessor(creator))]


def used_pvc_names(pod: Pod) -> Iterable[str]:
    """Return the PVC names of the pod; empty for a finished pod or an accessor."""
    is_over = pod.status.phase in FINISHED_PHASES or is_accessor(pod.metadata)
    return () if is_over else pod.spec.pvc_names


def is_accessor(metadata: ObjectMeta) -> bool:
    return metadata.labels.get(wellknown.APP_NAME_LABEL) == ACCESSOR_APP_NAME
