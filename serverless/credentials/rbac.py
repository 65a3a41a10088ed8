"""The Kubernetes permissions of the credentials Job: one Secret, which exists and is empty."""

from typing import Final

from serverless.credentials.secret import SECRET_NAME
from shared.config.namespaces import SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule

RULES: Final = (PolicyRule("", ("secrets",), ("get", "patch"), SYSTEM_NAMESPACE, (SECRET_NAME,)),)
