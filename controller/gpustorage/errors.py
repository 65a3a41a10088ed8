"""Error for caches that are older than the server."""

from controller.runtime import ReconcileError


class StaleCacheError(ReconcileError):
    """The server has newer state of a storage than the cache: reconcile again."""

    def __init__(self, name: str) -> None:
        super().__init__(f"GPUStorage {name} has changed since it was cached")
