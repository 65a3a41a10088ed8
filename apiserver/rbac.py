"""The permissions of the API in Kubernetes; the manifests are generated from them."""

from typing import Final

from shared.config.namespaces import INSTANCE_NAMESPACE, STOCK_NAMESPACE, SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP

MANAGE_VERBS: Final = ("create", "delete", "get", "list", "patch")
MANAGE_AND_WATCH_VERBS: Final = (*MANAGE_VERBS, "watch")

RULES: Final = (
    PolicyRule("", ("nodes",), ("get", "list", "watch")),
    PolicyRule("storage.k8s.io", ("storageclasses",), ("list",)),
    PolicyRule(GROUP, ("gpuunits",), MANAGE_AND_WATCH_VERBS, STOCK_NAMESPACE),
    PolicyRule(GROUP, ("stockpools",), MANAGE_VERBS, STOCK_NAMESPACE),
    PolicyRule(
        GROUP, ("functions", "gpuunits", "gpustorages"), MANAGE_AND_WATCH_VERBS, INSTANCE_NAMESPACE
    ),
    # The controller's leader deletes operations; the API never does.
    PolicyRule(GROUP, ("operations",), ("create", "get", "list", "patch"), SYSTEM_NAMESPACE),
    PolicyRule(GROUP, ("operations/status",), ("patch",), SYSTEM_NAMESPACE),
)
