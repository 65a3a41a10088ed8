"""RBAC rules for the reconcile of GPUUnits."""

from typing import Final

from shared.config.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP

WATCH_VERBS: Final = ("list", "watch")
APPLY_VERBS: Final = ("create", "list", "patch", "watch")


def unit_namespace_rules(namespace: str) -> tuple[PolicyRule, ...]:
    """Return the rules for both roles."""
    return (
        PolicyRule(GROUP, ("gpuunits",), ("delete", "get", "list", "patch", "watch"), namespace),
        PolicyRule(GROUP, ("gpuunits/status",), ("patch",), namespace),
        # Needed for blockOwnerDeletion in owner references, where the cluster enforces that.
        PolicyRule(GROUP, ("gpuunits/finalizers",), ("update",), namespace),
        PolicyRule("apps", ("deployments",), APPLY_VERBS, namespace),
        PolicyRule("apps", ("replicasets",), WATCH_VERBS, namespace),
        PolicyRule("networking.k8s.io", ("networkpolicies",), APPLY_VERBS, namespace),
        PolicyRule("", ("pods",), WATCH_VERBS, namespace),
        PolicyRule("events.k8s.io", ("events",), ("create", "patch"), namespace),
    )


RULES: Final = (
    *unit_namespace_rules(STOCK_NAMESPACE),
    *unit_namespace_rules(INSTANCE_NAMESPACE),
    # The workload of consumed stock is deleted at once.
    PolicyRule("apps", ("deployments", "replicasets"), ("delete",), STOCK_NAMESPACE),
    PolicyRule("", ("pods",), ("delete",), STOCK_NAMESPACE),
    PolicyRule("", ("services",), (*APPLY_VERBS, "delete"), INSTANCE_NAMESPACE),
    PolicyRule("", ("pods/status",), ("patch",), INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("gpustorages",), (*WATCH_VERBS, "patch"), INSTANCE_NAMESPACE),
    # Only the existence of a function matters: the controller does not read the Secrets of queues.
    PolicyRule(GROUP, ("functions",), WATCH_VERBS, INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("stockpools",), WATCH_VERBS, STOCK_NAMESPACE),
    PolicyRule(GROUP, ("operations",), ("get", *WATCH_VERBS), SYSTEM_NAMESPACE),
    PolicyRule(GROUP, ("operations/status",), ("patch",), SYSTEM_NAMESPACE),
    PolicyRule("", ("nodes",), WATCH_VERBS),
)
