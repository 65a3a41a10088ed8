"""Permissions in Kubernetes as programs declare them; the manifests are generated from these."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """Verbs on resources of one API group, in one namespace or, without one, in the cluster.

    With `names`, on the objects of these names only.
    """

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    namespace: str = ""
    resource_names: tuple[str, ...] = ()
