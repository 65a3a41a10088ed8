"""What the making of credentials needs of Kubernetes: one Secret, which is there and empty."""

from typing import Final

from serverless.credentials.secret import SECRET_NAME
from shared.k8s.rbac import PolicyRule

SYSTEM_NAMESPACE: Final = "runtime-system"

RULES: Final = (PolicyRule("", ("secrets",), ("get", "patch"), SYSTEM_NAMESPACE, (SECRET_NAME,)),)
