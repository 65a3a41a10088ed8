"""RBAC rules of the controller; the manifests are generated from this module."""

from typing import Final

from controller.gpustorage.permissions import RULES as GPU_STORAGE_RULES
from controller.gpuunit.permissions import RULES as GPU_UNIT_RULES
from controller.operation.permissions import RULES as OPERATION_RULES
from controller.stockpool.permissions import RULES as STOCK_POOL_RULES
from shared.config.namespaces import SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule

RULES: Final = (
    PolicyRule("coordination.k8s.io", ("leases",), ("create", "get", "patch"), SYSTEM_NAMESPACE),
    PolicyRule("events.k8s.io", ("events",), ("create", "patch"), SYSTEM_NAMESPACE),
    *GPU_UNIT_RULES,
    *GPU_STORAGE_RULES,
    *STOCK_POOL_RULES,
    *OPERATION_RULES,
)
