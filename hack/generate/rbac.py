"""The generator of manifests/rbac: the account and the roles of each program, from its rules."""

from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from apiserver.rbac import RULES as API_RULES
from controller.rbac import RULES as CONTROLLER_RULES
from serverless.activator.rbac import RULES as ACTIVATOR_RULES
from serverless.credentials.rbac import RULES as CREDENTIALS_RULES
from shared.k8s.rbac import PolicyRule

NAMESPACE = "runtime-system"
FILE_HEADER = "# Generated from the program's rbac.py by `make generate`.\n"
RBAC_GROUP = "rbac.authorization.k8s.io"


def runtime_api_manifest() -> str:
    return rbac_manifest("runtime-api", API_RULES)


def controller_manifest() -> str:
    return rbac_manifest("controller", CONTROLLER_RULES)


def activator_manifest() -> str:
    return rbac_manifest("activator", ACTIVATOR_RULES)


def credentials_manifest() -> str:
    return rbac_manifest("credentials", CREDENTIALS_RULES)


def rbac_manifest(account: str, rules: Sequence[PolicyRule]) -> str:
    documents = [service_account(account)]
    for namespace in sorted({rule.namespace for rule in rules}):
        merged = merge_rules(rule for rule in rules if rule.namespace == namespace)
        documents += [role(account, namespace, merged), role_binding(account, namespace)]
    return FILE_HEADER + yaml.safe_dump_all(documents, sort_keys=False)


def merge_rules(rules: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Merge the verbs of each resource, so that a permission of several parts is listed once."""
    verbs: dict[tuple[str, str, str, tuple[str, ...]], set[str]] = {}
    for rule in rules:
        for resource in rule.resources:
            key = (rule.namespace, rule.group, resource, rule.resource_names)
            verbs.setdefault(key, set()).update(rule.verbs)
    return [
        PolicyRule(group, (resource,), tuple(sorted(merged_verbs)), namespace, names)
        for (namespace, group, resource, names), merged_verbs in sorted(verbs.items())
    ]


def service_account(account: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": object_metadata(account, NAMESPACE),
    }


def role(account: str, namespace: str, rules: Sequence[PolicyRule]) -> dict[str, Any]:
    """Return a Role, or a ClusterRole if there is no namespace."""
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": role_kind(namespace),
        "metadata": object_metadata(role_name(account), namespace),
        "rules": [policy_rule(rule) for rule in rules],
    }


def policy_rule(rule: PolicyRule) -> dict[str, Any]:
    names = {"resourceNames": list(rule.resource_names)} if rule.resource_names else {}
    return {
        "apiGroups": [rule.group],
        "resources": list(rule.resources),
        **names,
        "verbs": list(rule.verbs),
    }


def role_binding(account: str, namespace: str) -> dict[str, Any]:
    kind = role_kind(namespace)
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": object_metadata(role_name(account), namespace),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": kind, "name": role_name(account)},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    }


def role_kind(namespace: str) -> str:
    return "Role" if namespace else "ClusterRole"


def role_name(account: str) -> str:
    """Return the name of a role; the prefix distinguishes the role from other ClusterRoles."""
    return f"gpu-runtime:{account}"


def object_metadata(name: str, namespace: str) -> dict[str, Any]:
    labels = {"app.kubernetes.io/part-of": "gpu-runtime"}
    scope = {"namespace": namespace} if namespace else {}
    return {"name": name, **scope, "labels": labels}
