"""What the API may do in Kubernetes; the manifests are generated from here."""

from typing import Final

from shared.k8s.rbac import Rule
from shared.v1alpha1.group import GROUP

STOCK: Final = "runtime-stock"
INSTANCE: Final = "runtime-instance"
SYSTEM: Final = "runtime-system"

KEEP: Final = ("create", "delete", "get", "list", "patch")
FOLLOW: Final = (*KEEP, "watch")

RULES: Final = (
    Rule("", ("nodes",), ("get", "list", "watch")),
    Rule("storage.k8s.io", ("storageclasses",), ("list",)),
    Rule(GROUP, ("gpuunits",), FOLLOW, STOCK),
    Rule(GROUP, ("stockpools",), KEEP, STOCK),
    Rule(GROUP, ("functions", "gpuunits", "gpustorages"), FOLLOW, INSTANCE),
    # The controller's leader deletes records; the API never does.
    Rule(GROUP, ("operations",), ("create", "get", "list", "patch"), SYSTEM),
    Rule(GROUP, ("operations/status",), ("patch",), SYSTEM),
)
