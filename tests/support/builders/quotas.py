"""Quotas of units, with a wait until they are enforced."""

from collections.abc import Mapping
from typing import Any

from hack.cluster.admin_client import AdminClient, ApiStatusError
from tests.support.wait.eventually import eventually

UNIT_COUNT = "count/gpuunits.runtime.lokiwager.io"
# No test creates this resource: when the server refuses it, the quota is enforced.
PROBE_COUNT = "count/podtemplates"


async def create_effective_quota(admin: AdminClient, namespace: str, max_units: int = 1) -> str:
    """Create a quota of `max_units` units, wait until it is enforced, and return its path.

    A quota that exists before the controller manager knows the kind is read again only minutes
    later, so another one is created.
    """
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    spec = {"hard": {UNIT_COUNT: str(max_units), PROBE_COUNT: "0"}}
    path, body = f"{quotas}/few", {"metadata": {"name": "few"}, "spec": spec}
    for _ in range(12):
        await admin.create(quotas, body)
        try:
            await eventually(lambda: admin.get(path), has_usage, timeout_seconds=10)
        except AssertionError:
            await admin.delete(path)
        else:
            await eventually(lambda: is_enforced(admin, namespace))
            return path
    raise AssertionError("no quota became effective")


async def is_enforced(admin: AdminClient, namespace: str) -> bool:
    """Return whether admission enforces the quota, which is later than it can be read."""
    template = {"containers": [{"name": "main", "image": "example/image:1"}]}
    body = {"metadata": {"name": "probe"}, "template": {"spec": template}}
    path = f"/api/v1/namespaces/{namespace}/podtemplates"
    try:
        await admin.request("POST", path, body, query={"dryRun": "All"})
    except ApiStatusError as error:
        return "exceeded quota" in str(error)
    return False


def has_usage(quota: Mapping[str, Any]) -> bool:
    used: Mapping[str, str] = quota["status"].get("used", {})
    return {UNIT_COUNT, PROBE_COUNT} <= used.keys()
