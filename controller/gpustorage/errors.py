"""The server is ahead of the caches."""

from controller.runtime import ReconcileError


class StaleCacheError(ReconcileError):
    """The server knows of a storage what we do not know yet: look again."""

    def __init__(self, name: str) -> None:
        super().__init__(f"GPUStorage {name} has changed meanwhile")
