"""What the work on GPUStorages needs of Kubernetes."""

from typing import Final

from shared.k8s.rbac import Rule
from shared.v1alpha1.group import GROUP

INSTANCE: Final = "runtime-instance"
SYSTEM: Final = "runtime-system"

WATCH: Final = ("list", "watch")
APPLY: Final = ("create", "list", "patch", "watch")

RULES: Final = (
    Rule(GROUP, ("gpustorages",), ("get", "patch", *WATCH), INSTANCE),
    Rule(GROUP, ("gpustorages/status",), ("patch",), INSTANCE),
    # An owner that its children keep from going, where the cluster is strict about that.
    Rule(GROUP, ("gpustorages/finalizers",), ("update",), INSTANCE),
    Rule(GROUP, ("gpuunits",), ("get", *WATCH), INSTANCE),
    Rule(GROUP, ("operations",), ("get", *WATCH), SYSTEM),
    # Never deleted by us: the volume goes with its storage, by the garbage collector.
    Rule("", ("persistentvolumeclaims",), (*APPLY, "get"), INSTANCE),
    Rule("batch", ("jobs",), (*APPLY, "delete", "get"), INSTANCE),
    Rule("apps", ("deployments",), (*APPLY, "delete"), INSTANCE),
    Rule("apps", ("replicasets",), WATCH, INSTANCE),
    Rule("", ("services",), (*APPLY, "delete"), INSTANCE),
    Rule("networking.k8s.io", ("networkpolicies",), (*APPLY, "delete"), INSTANCE),
    Rule("", ("pods",), WATCH, INSTANCE),
    Rule("events.k8s.io", ("events",), ("create", "patch"), INSTANCE),
    Rule("storage.k8s.io", ("storageclasses",), WATCH),
)
