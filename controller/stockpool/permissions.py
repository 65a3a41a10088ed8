"""RBAC rules for the reconcile of StockPools."""

from typing import Final

from shared.config.namespaces import STOCK_NAMESPACE
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP

RULES: Final = (
    PolicyRule(GROUP, ("stockpools",), ("get", "list", "watch"), STOCK_NAMESPACE),
    PolicyRule(GROUP, ("stockpools/status",), ("patch",), STOCK_NAMESPACE),
    # Needed for blockOwnerDeletion in owner references, where the cluster enforces that.
    PolicyRule(GROUP, ("stockpools/finalizers",), ("update",), STOCK_NAMESPACE),
    PolicyRule(GROUP, ("gpuunits",), ("create", "delete", "list", "watch"), STOCK_NAMESPACE),
    PolicyRule("events.k8s.io", ("events",), ("create", "patch"), STOCK_NAMESPACE),
)
