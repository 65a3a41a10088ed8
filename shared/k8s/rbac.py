"""Kubernetes permissions that programs declare; the manifests are generated from them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Verbs on resources of one API group, in one namespace or, if it is empty, in the whole
    cluster.

    With `names`, only on the objects of these names.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    namespace: str = ""
    resource_names: tuple[str, ...] = ()
