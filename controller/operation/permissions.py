"""RBAC rules for the retention of operations."""

from typing import Final

from shared.config.namespaces import SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP

RULES: Final = (
    PolicyRule(GROUP, ("operations",), ("delete", "list", "patch", "watch"), SYSTEM_NAMESPACE),
)
