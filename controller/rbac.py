"""What the controller may do in Kubernetes; the manifests are generated from here."""

from typing import Final

from shared.rbac import Rule

SYSTEM: Final = "runtime-system"

RULES: Final = (
    Rule("coordination.k8s.io", ("leases",), ("create", "get", "patch"), SYSTEM),
    Rule("events.k8s.io", ("events",), ("create", "patch"), SYSTEM),
)
