"""The tag by which HTTP names one state of an object."""

from shared.k8s.meta import ObjectMeta


def make_etag(metadata: ObjectMeta) -> str:
    """The tag of an object; a change of its status does not change it."""
    return f'"{metadata.uid}.{metadata.generation}"'
