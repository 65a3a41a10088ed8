"""Who uses the volume of a storage, or is about to."""

from collections.abc import Iterable

from controller.caches import BY_CLAIM, Caches
from controller.gpustorage.labels import is_accessor
from shared.meta import ObjectMeta
from shared.pod import Pod
from shared.v1alpha1.gpustorage import GPUStorage

FINISHED = ("Succeeded", "Failed")


def pods_using(caches: Caches, storage: GPUStorage) -> list[Pod]:
    """The pods that have or want the volume, but for those that only browse it."""
    meta = storage.metadata
    found = caches.pods.by_index(meta.namespace, BY_CLAIM, meta.name)
    return [
        pod for pod in found if pod.status.phase not in FINISHED and not is_accessor(pod.metadata)
    ]


def is_in_use(caches: Caches, storage: GPUStorage) -> bool:
    """Whether a pod uses the volume, or somebody may make one at any moment."""
    meta = storage.metadata
    makers: Iterable[ObjectMeta] = [
        found.metadata
        for cache in (caches.deployments, caches.replica_sets)
        for found in cache.by_index(meta.namespace, BY_CLAIM, meta.name)
    ]
    return bool(pods_using(caches, storage)) or not all(map(is_accessor, makers))


def node_in_use(caches: Caches, storage: GPUStorage) -> str:
    """The node on which the volume is in use; empty where it is not."""
    nodes = sorted(pod.spec.node_name for pod in pods_using(caches, storage))
    return next(filter(None, nodes), "")
