"""Kubernetes permissions that programs declare; the manifests are generated from them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Verbs on resources of one API group, in one namespace or in the whole cluster.

    An empty namespace means the cluster. With `resource_names`, the rule covers only the objects
    of these names.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    namespace: str = ""
    resource_names: tuple[str, ...] = ()
