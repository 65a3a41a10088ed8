"""What the sweep of records needs of Kubernetes."""

from typing import Final

from shared.k8s.rbac import Rule
from shared.v1alpha1.group import GROUP

SYSTEM: Final = "runtime-system"

RULES: Final = (Rule(GROUP, ("operations",), ("delete", "list", "patch", "watch"), SYSTEM),)
