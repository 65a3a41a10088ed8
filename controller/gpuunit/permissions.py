"""What the work on GPUUnits needs of Kubernetes."""

from typing import Final

from shared.k8s.rbac import Rule
from shared.v1alpha1.group import GROUP

STOCK: Final = "runtime-stock"
INSTANCE: Final = "runtime-instance"
SYSTEM: Final = "runtime-system"

WATCH: Final = ("list", "watch")
APPLY: Final = ("create", "list", "patch", "watch")


def in_units_namespace(namespace: str) -> tuple[Rule, ...]:
    """What both roles need."""
    return (
        Rule(GROUP, ("gpuunits",), ("delete", "get", "list", "patch", "watch"), namespace),
        Rule(GROUP, ("gpuunits/status",), ("patch",), namespace),
        # An owner that its children keep from going, where the cluster is strict about that.
        Rule(GROUP, ("gpuunits/finalizers",), ("update",), namespace),
        Rule("apps", ("deployments",), APPLY, namespace),
        Rule("apps", ("replicasets",), WATCH, namespace),
        Rule("networking.k8s.io", ("networkpolicies",), APPLY, namespace),
        Rule("", ("pods",), WATCH, namespace),
        Rule("events.k8s.io", ("events",), ("create", "patch"), namespace),
    )


RULES: Final = (
    *in_units_namespace(STOCK),
    *in_units_namespace(INSTANCE),
    # What a consumed reservation leaves behind is taken down at once.
    Rule("apps", ("deployments", "replicasets"), ("delete",), STOCK),
    Rule("", ("pods",), ("delete",), STOCK),
    Rule("", ("services",), (*APPLY, "delete"), INSTANCE),
    Rule("", ("pods/status",), ("patch",), INSTANCE),
    Rule(GROUP, ("gpustorages",), (*WATCH, "patch"), INSTANCE),
    # Only whether it is there: the Secrets of queues are nothing that the controller reads.
    Rule(GROUP, ("functions",), WATCH, INSTANCE),
    Rule(GROUP, ("stockpools",), WATCH, STOCK),
    Rule(GROUP, ("operations",), ("get", *WATCH), SYSTEM),
    Rule(GROUP, ("operations/status",), ("patch",), SYSTEM),
    Rule("", ("nodes",), WATCH),
)
