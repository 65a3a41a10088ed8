"""What the API may do in Kubernetes; the manifests are generated from here."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources of one API group, in the whole cluster."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]


CLUSTER_RULES: Final = (Rule(group="", resources=("nodes",), verbs=("get", "list", "watch")),)
