"""The identity of an object within its kind."""

from typing import NamedTuple


class ObjectKey(NamedTuple):
    """Namespace and name of an object; `namespace` is empty for cluster-scoped kinds."""

    # A tuple, because the queue hashes every key several times, and tuples hash fast.
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
