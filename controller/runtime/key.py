"""The identity of an object within its kind."""

from typing import NamedTuple


class ObjectKey(NamedTuple):
    """Where an object is; `namespace` is empty for kinds that have none."""

    # A tuple because the queue hashes every key several times, and only C does that cheaply.
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name
