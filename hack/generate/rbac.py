"""manifests/rbac: the account and the roles of each program, from what it declares."""

from collections.abc import Sequence
from typing import Any

import yaml

from apiserver.rbac import CLUSTER_RULES as API_RULES
from controller.rbac import CLUSTER_RULES as CONTROLLER_RULES
from shared.rbac import Rule

NAMESPACE = "runtime-system"
HEADER = "# Generated from the program's rbac.py by `make generate`.\n"
RBAC = "rbac.authorization.k8s.io"


def runtime_api() -> str:
    return manifest("runtime-api", API_RULES)


def controller() -> str:
    return manifest("controller", CONTROLLER_RULES)


def manifest(account: str, rules: Sequence[Rule]) -> str:
    documents = [service_account(account)]
    if rules:
        documents += [cluster_role(account, rules), cluster_role_binding(account)]
    return HEADER + yaml.safe_dump_all(documents, sort_keys=False)


def service_account(account: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": account, "namespace": NAMESPACE, "labels": labels()},
    }


def cluster_role(account: str, rules: Sequence[Rule]) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": role_name(account), "labels": labels()},
        "rules": [
            {
                "apiGroups": [rule.group],
                "resources": list(rule.resources),
                "verbs": list(rule.verbs),
            }
            for rule in rules
        ],
    }


def cluster_role_binding(account: str) -> dict[str, Any]:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role_name(account), "labels": labels()},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role_name(account)},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}],
    }


def role_name(account: str) -> str:
    """Cluster roles share one space of names with everybody else's."""
    return f"gpu-runtime:{account}"


def labels() -> dict[str, str]:
    return {"app.kubernetes.io/part-of": "gpu-runtime"}
