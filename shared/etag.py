"""The HTTP entity tag of an object."""

from shared.k8s.meta import ObjectMeta


def make_etag(metadata: ObjectMeta) -> str:
    """Return the tag of an object; a change of its status does not change the tag."""
    return f'"{metadata.uid}.{metadata.generation}"'
