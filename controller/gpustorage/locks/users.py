"""Users of the volume of a storage, present and possible."""

from controller.caches import Caches
from controller.gpustorage.errors import StaleCacheError
from controller.gpustorage.locks.validity import holder_pod_selector
from controller.object_reader import ObjectReader
from controller.runtime import key_of
from controller.volume_users import pods_using_pvc, pvc_users, used_pvc_names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.storage_lock import StorageLock


def is_volume_in_use(caches: Caches, storage: GPUStorage) -> bool:
    """Return whether a pod uses the volume, or its owner may create one at any moment."""
    return bool(pvc_users(caches, key_of(storage)))


def node_using_volume(caches: Caches, storage: GPUStorage) -> str:
    """Return the node on which the volume is in use; empty if the volume is not in use."""
    nodes = sorted(pod.spec.node_name for pod in pods_using_pvc(caches, key_of(storage)))
    return next(filter(None, nodes), "")


async def require_unused_volume(
    reader: ObjectReader, storage: GPUStorage, lock: StorageLock | None
) -> None:
    """Raise StaleCacheError if the holder's pods use the volume according to the server.

    Pods that exist only in the cache do not count.
    """
    name = storage.metadata.name
    pods = await reader.live_pods(holder_pod_selector(lock))
    if any(name in used_pvc_names(pod) for pod in pods):
        raise StaleCacheError(name)
