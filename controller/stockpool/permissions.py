"""What the work on StockPools needs of Kubernetes."""

from typing import Final

from shared.k8s.rbac import Rule
from shared.v1alpha1.group import GROUP

STOCK: Final = "runtime-stock"

RULES: Final = (
    Rule(GROUP, ("stockpools",), ("get", "list", "watch"), STOCK),
    Rule(GROUP, ("stockpools/status",), ("patch",), STOCK),
    # An owner that its units keep from going, where the cluster is strict about that.
    Rule(GROUP, ("stockpools/finalizers",), ("update",), STOCK),
    Rule(GROUP, ("gpuunits",), ("create", "delete", "list", "watch"), STOCK),
    Rule("events.k8s.io", ("events",), ("create", "patch"), STOCK),
)
