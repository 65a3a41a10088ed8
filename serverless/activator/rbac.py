"""The Kubernetes permissions of the activator; the manifests are generated from here."""

from typing import Final

from shared.config.namespaces import INSTANCE_NAMESPACE, SYSTEM_NAMESPACE
from shared.k8s.rbac import PolicyRule
from shared.v1alpha1.group import GROUP

RULES: Final = (
    PolicyRule(GROUP, ("functions",), ("get", "list", "patch", "watch"), INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("functions/status",), ("patch",), INSTANCE_NAMESPACE),
    # An owner reference with blockOwnerDeletion, if the cluster checks the right to set it.
    PolicyRule(GROUP, ("functions/finalizers",), ("update",), INSTANCE_NAMESPACE),
    PolicyRule(GROUP, ("gpuunits",), ("get", "list", "watch"), INSTANCE_NAMESPACE),
    PolicyRule("", ("secrets",), ("create", "get", "patch"), INSTANCE_NAMESPACE),
    PolicyRule("events.k8s.io", ("events",), ("create", "patch"), INSTANCE_NAMESPACE),
    PolicyRule("coordination.k8s.io", ("leases",), ("create", "get", "patch"), SYSTEM_NAMESPACE),
    PolicyRule("events.k8s.io", ("events",), ("create", "patch"), SYSTEM_NAMESPACE),
)
