"""Who uses the volume of a storage, or is about to."""

from controller.caches import Caches
from controller.gpustorage.errors import StaleCacheError
from controller.gpustorage.locks.validity import holder_pod_selector
from controller.object_reader import ObjectReader
from controller.runtime import key_of
from controller.volume_users import pods_using_pvc, pvc_users, used_pvc_names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.storage_lock import StorageLock


def is_volume_in_use(caches: Caches, storage: GPUStorage) -> bool:
    """Whether a pod uses the volume, or somebody may make one at any moment."""
    return bool(pvc_users(caches, key_of(storage)))


def node_using_volume(caches: Caches, storage: GPUStorage) -> str:
    """The node on which the volume is in use; empty where it is not."""
    nodes = sorted(pod.spec.node_name for pod in pods_using_pvc(caches, key_of(storage)))
    return next(filter(None, nodes), "")


async def require_unused_volume(
    reader: ObjectReader, storage: GPUStorage, lock: StorageLock | None
) -> None:
    """That no pod of the holder uses the volume is believed only of the server."""
    name = storage.metadata.name
    pods = await reader.live_pods(holder_pod_selector(lock))
    if any(name in used_pvc_names(pod) for pod in pods):
        raise StaleCacheError(name)
