"""Who uses the volume of a storage, or is about to."""

from controller.caches import Caches
from controller.gpustorage.errors import OvertakenError
from controller.gpustorage.locks.validity import pod_labels_of
from controller.object_reader import Lookup
from controller.runtime.client.kind import key_of
from controller.volume_users import pods_using, used_claims, users_of
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.storage_lock import StorageLock


def is_in_use(caches: Caches, storage: GPUStorage) -> bool:
    """Whether a pod uses the volume, or somebody may make one at any moment."""
    return bool(users_of(caches, key_of(storage)))


def node_in_use(caches: Caches, storage: GPUStorage) -> str:
    """The node on which the volume is in use; empty where it is not."""
    nodes = sorted(pod.spec.node_name for pod in pods_using(caches, key_of(storage)))
    return next(filter(None, nodes), "")


async def require_unused(lookup: Lookup, storage: GPUStorage, lock: StorageLock | None) -> None:
    """That no pod of the holder uses the volume is believed only of the server."""
    name = storage.metadata.name
    pods = await lookup.live_pods(pod_labels_of(lock))
    if any(name in used_claims(pod) for pod in pods):
        raise OvertakenError(name)
