"""Who uses the volume of a claim, or is about to; whoever only browses it gives way to all."""

from collections.abc import Iterable
from typing import Final

from controller.caches import BY_CLAIM, Caches
from controller.runtime.key import ObjectKey
from shared.k8s.meta import ObjectMeta
from shared.k8s.pod import Pod
from shared.v1alpha1 import wellknown

BROWSER: Final = "gpu-storage-accessor"
FINISHED: Final = ("Succeeded", "Failed")


def pods_using(caches: Caches, claim: ObjectKey) -> list[Pod]:
    """The pods that have or want the volume."""
    found = caches.pods.by_index(claim.namespace, BY_CLAIM, claim.name)
    return [pod for pod in found if claim.name in used_claims(pod)]


def users_of(caches: Caches, claim: ObjectKey) -> list[ObjectMeta]:
    """Those pods, and who may make one at any moment."""
    makers = [
        found.metadata
        for cache in (caches.deployments, caches.replica_sets)
        for found in cache.by_index(claim.namespace, BY_CLAIM, claim.name)
    ]
    pods = [pod.metadata for pod in pods_using(caches, claim)]
    return [*pods, *(maker for maker in makers if not is_browser(maker))]


def used_claims(pod: Pod) -> Iterable[str]:
    """None of a pod that has finished, or only browses."""
    is_over = pod.status.phase in FINISHED or is_browser(pod.metadata)
    return () if is_over else pod.spec.claims


def is_browser(meta: ObjectMeta) -> bool:
    return meta.labels.get(wellknown.APP_NAME_LABEL) == BROWSER
