"""What the server would let our accounts do; it looks at roles through a cache."""

from hack.cluster.admin_client import AdminClient
from shared.k8s.rbac import PolicyRule

SUBJECT_ACCESS_REVIEWS_PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def is_allowed(admin: AdminClient, account: str, rule: PolicyRule) -> bool:
    """Whether the account may do the first thing that the rule speaks of."""
    resource, _, part = rule.resources[0].partition("/")
    attributes = {
        "verb": rule.verbs[0],
        "group": rule.group,
        "resource": resource,
        "subresource": part,
        "namespace": rule.namespace,
        "name": next(iter(rule.resource_names), ""),
    }
    user = f"system:serviceaccount:runtime-system:{account}"
    review = await admin.create(
        SUBJECT_ACCESS_REVIEWS_PATH, {"spec": {"user": user, "resourceAttributes": attributes}}
    )
    return bool(review["status"]["allowed"])
