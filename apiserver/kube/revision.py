"""Which state of an object somebody has seen."""

from typing import NamedTuple

from shared.k8s.meta import ObjectMeta


class Revision(NamedTuple):
    """Changes with every write of the spec, and with no write of the status."""

    uid: str
    generation: int


def revision_of(metadata: ObjectMeta) -> Revision:
    """The revision of the object with that metadata."""
    return Revision(metadata.uid, metadata.generation)
