"""A quota on the number of units in a namespace."""

from collections.abc import Mapping
from typing import Any

from hack.cluster.admin import Admin
from shared.v1alpha1.group import GROUP
from tests.support.eventually import eventually

COUNTED = f"count/gpuunits.{GROUP}"


async def effective_quota(admin: Admin, namespace: str, *, units: int) -> str:
    """The path of a quota that the server holds everybody to.

    One that is made before the controller manager has heard of the kind is looked at again only
    after minutes, so another is made.
    """
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    body = {"metadata": {"name": "few"}, "spec": {"hard": {COUNTED: str(units)}}}
    path = f"{quotas}/few"
    for _ in range(60):
        await admin.create(quotas, body)
        try:
            await eventually(lambda: admin.get(path), is_counting, seconds=2)
        except AssertionError:
            await admin.delete(path)
        else:
            return path
    raise AssertionError("no quota became effective")


def is_counting(quota: Mapping[str, Any]) -> bool:
    return COUNTED in quota["status"].get("used", {})
