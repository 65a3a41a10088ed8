"""What the activator may do in Kubernetes; the manifests are generated from here."""

from typing import Final

from shared.k8s.rbac import Rule
from shared.v1alpha1.group import GROUP

INSTANCE: Final = "runtime-instance"
SYSTEM: Final = "runtime-system"

RULES: Final = (
    Rule(GROUP, ("functions",), ("get", "list", "patch", "watch"), INSTANCE),
    Rule(GROUP, ("functions/status",), ("patch",), INSTANCE),
    # An owner that its Secret keeps from going, where the cluster is strict about that.
    Rule(GROUP, ("functions/finalizers",), ("update",), INSTANCE),
    Rule(GROUP, ("gpuunits",), ("get", "list", "watch"), INSTANCE),
    Rule("", ("secrets",), ("create", "get", "patch"), INSTANCE),
    Rule("events.k8s.io", ("events",), ("create", "patch"), INSTANCE),
    Rule("coordination.k8s.io", ("leases",), ("create", "get", "patch"), SYSTEM),
    Rule("events.k8s.io", ("events",), ("create", "patch"), SYSTEM),
)
