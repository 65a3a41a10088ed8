"""What the work on GPUUnits needs of Kubernetes."""

from typing import Final

from shared.config.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP

WATCH_VERBS: Final = ("list", "watch")
APPLY_VERBS: Final = ("create", "list", "patch", "watch")


def unit_namespace_rules(namespace: str) -> tuple[PolicyRule, ...]:
    """What both roles need."""
    return (
        PolicyRule(GROUP, ("gpuunits",), ("delete", "get", "list", "patch", "watch"), namespace),
        PolicyRule(GROUP, ("gpuunits/status",), ("patch",), namespace),
        # An owner that its children keep from going, where the cluster is strict about that.
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
    # What a consumed reservation leaves behind is taken down at once.
    PolicyRule("apps", ("deployments", "replicasets"), ("delete",), STOCK_NAMESPACE),
    PolicyRule("", ("pods",), ("delete",), STOCK_NAMESPACE),
    PolicyRule("", ("services",), (*APPLY_VERBS, "delete"), INSTANCE_NAMESPACE),
    PolicyRule("", ("pods/status",), ("patch",), INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("gpustorages",), (*WATCH_VERBS, "patch"), INSTANCE_NAMESPACE),
    # Only whether it is there: the Secrets of queues are nothing that the controller reads.
    PolicyRule(GROUP, ("functions",), WATCH_VERBS, INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("stockpools",), WATCH_VERBS, STOCK_NAMESPACE),
    PolicyRule(GROUP, ("operations",), ("get", *WATCH_VERBS), SYSTEM_NAMESPACE),
    PolicyRule(GROUP, ("operations/status",), ("patch",), SYSTEM_NAMESPACE),
    PolicyRule("", ("nodes",), WATCH_VERBS),
)
