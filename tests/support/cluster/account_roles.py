"""The generated roles of the product's accounts, bound in the namespaces of one installation."""

from dataclasses import replace
from functools import partial
from typing import Any

from apiserver.rbac import RULES as API_RULES
from controller.namespaces import Namespaces
from controller.rbac import RULES as CONTROLLER_RULES
from hack.cluster.admin_client import AdminClient
from hack.generate import rbac
from serverless.activator.rbac import RULES as ACTIVATOR_RULES
from shared.k8s.rbac import PolicyRule
from tests.support.wait.eventually import eventually

RBAC_API = "/apis/rbac.authorization.k8s.io/v1"
SUBJECT_ACCESS_REVIEWS_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
SHIPPED_NAMESPACES = ("runtime-stock", "runtime-instance", "runtime-system")
ACCOUNT_RULES = {
    "activator": ACTIVATOR_RULES,
    "controller": CONTROLLER_RULES,
    "runtime-api": API_RULES,
}


async def install_roles(admin: AdminClient) -> None:
    """Create a ClusterRole for the generated rules of each account and shipped namespace."""
    for account, rules in ACCOUNT_RULES.items():
        for shipped in SHIPPED_NAMESPACES:
            merged = rbac.merge_rules(rule for rule in rules if rule.namespace == shipped)
            body = rbac.role(account, "", merged)
            body["metadata"]["name"] = name = role_name(account, shipped)
            await admin.apply(f"{RBAC_API}/clusterroles/{name}", body)


async def grant_roles(admin: AdminClient, names: Namespaces) -> None:
    """Bind the roles of each account in these namespaces, and wait until they are effective.

    The server reads bindings in order: when the last one is effective, all are.
    """
    targets = dict(
        zip(SHIPPED_NAMESPACES, (names.stock, names.instance, names.system), strict=True)
    )
    last: tuple[str, PolicyRule] | None = None
    for account, rules in ACCOUNT_RULES.items():
        for shipped, namespace in targets.items():
            if granted := [rule for rule in rules if rule.namespace == shipped]:
                await admin.create(*role_binding(account, shipped, namespace))
                last = (account, replace(granted[0], namespace=namespace))
    assert last is not None
    await eventually(partial(is_allowed, admin, *last))


def role_binding(
    account: str, shipped_namespace: str, namespace: str
) -> tuple[str, dict[str, Any]]:
    """Return the path and the body of a RoleBinding of the account's role in `namespace`."""
    bound = rbac.role_binding(account, namespace)
    role = {
        **bound["roleRef"],
        "kind": "ClusterRole",
        "name": role_name(account, shipped_namespace),
    }
    return f"{RBAC_API}/namespaces/{namespace}/rolebindings", {**bound, "roleRef": role}


def role_name(account: str, shipped_namespace: str) -> str:
    return f"site:{account}:{shipped_namespace}"


async def is_allowed(admin: AdminClient, account: str, rule: PolicyRule) -> bool:
    """Return whether the account may use the first verb on the first resource of `rule`.

    The server reads roles through a cache: a new binding is effective a moment later.
    """
    resource, _, subresource = rule.resources[0].partition("/")
    attributes = {
        "verb": rule.verbs[0],
        "group": rule.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": rule.namespace,
        "name": next(iter(rule.resource_names), ""),
    }
    user = f"system:serviceaccount:runtime-system:{account}"
    review = await admin.create(
        SUBJECT_ACCESS_REVIEWS_PATH, {"spec": {"user": user, "resourceAttributes": attributes}}
    )
    return bool(review["status"]["allowed"])
