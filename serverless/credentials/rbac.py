"""What the making of credentials needs of Kubernetes: one Secret, which is there and empty."""

from typing import Final

from serverless.credentials.secret import NAME
from shared.k8s.rbac import Rule

SYSTEM: Final = "runtime-system"

RULES: Final = (Rule("", ("secrets",), ("get", "patch"), SYSTEM, (NAME,)),)
