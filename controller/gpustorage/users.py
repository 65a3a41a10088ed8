"""Who uses the volume of a storage, or is about to."""

from controller.caches import Caches
from controller.runtime.kind import key_of
from controller.volume_users import pods_using, users_of
from shared.v1alpha1.gpustorage import GPUStorage


def is_in_use(caches: Caches, storage: GPUStorage) -> bool:
    """Whether a pod uses the volume, or somebody may make one at any moment."""
    return bool(users_of(caches, key_of(storage)))


def node_in_use(caches: Caches, storage: GPUStorage) -> str:
    """The node on which the volume is in use; empty where it is not."""
    nodes = sorted(pod.spec.node_name for pod in pods_using(caches, key_of(storage)))
    return next(filter(None, nodes), "")
