"""What the controller may do in Kubernetes; the manifests are generated from here."""

from typing import Final

from shared.rbac import Rule

CLUSTER_RULES: Final[tuple[Rule, ...]] = ()
