"""RBAC rules for the reconcile of GPUStorages."""

from typing import Final

from shared.config.namespaces import INSTANCE_NAMESPACE, SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP

WATCH_VERBS: Final = ("list", "watch")
APPLY_VERBS: Final = ("create", "list", "patch", "watch")

RULES: Final = (
    PolicyRule(GROUP, ("gpustorages",), ("get", "patch", *WATCH_VERBS), INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("gpustorages/status",), ("patch",), INSTANCE_NAMESPACE),
    # Needed for blockOwnerDeletion in owner references, where the cluster enforces that.
    PolicyRule(GROUP, ("gpustorages/finalizers",), ("update",), INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("gpuunits",), ("get", *WATCH_VERBS), INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("operations",), ("get", *WATCH_VERBS), SYSTEM_NAMESPACE),
    # The controller never deletes PVCs: the garbage collector deletes them with their storage.
    PolicyRule("", ("persistentvolumeclaims",), (*APPLY_VERBS, "get"), INSTANCE_NAMESPACE),
    PolicyRule("batch", ("jobs",), (*APPLY_VERBS, "delete", "get"), INSTANCE_NAMESPACE),
    PolicyRule("apps", ("deployments",), (*APPLY_VERBS, "delete"), INSTANCE_NAMESPACE),
    PolicyRule("apps", ("replicasets",), WATCH_VERBS, INSTANCE_NAMESPACE),
    PolicyRule("", ("services",), (*APPLY_VERBS, "delete"), INSTANCE_NAMESPACE),
    PolicyRule(
        "networking.k8s.io", ("networkpolicies",), (*APPLY_VERBS, "delete"), INSTANCE_NAMESPACE
    ),
    PolicyRule("", ("pods",), WATCH_VERBS, INSTANCE_NAMESPACE),
    PolicyRule("events.k8s.io", ("events",), ("create", "patch"), INSTANCE_NAMESPACE),
    PolicyRule("storage.k8s.io", ("storageclasses",), WATCH_VERBS),
)
