"""Quotas of units, which the server holds everybody to."""

from collections.abc import Mapping
from typing import Any

from hack.cluster.admin import Admin
from tests.support.eventually import eventually

COUNTED = "count/gpuunits.runtime.lokiwager.io"


async def effective_quota(admin: Admin, namespace: str, most: int = 1) -> str:
    """The path of a quota of so many units that the server holds everybody to.

    One that is made before the controller manager has heard of the kind is looked at again only
    after minutes, so another is made.
    """
    quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
    spec = {"hard": {COUNTED: str(most)}}
    path, body = f"{quotas}/few", {"metadata": {"name": "few"}, "spec": spec}
    for _ in range(12):
        await admin.create(quotas, body)
        try:
            await eventually(lambda: admin.get(path), is_counting, seconds=10)
        except AssertionError:
            await admin.delete(path)
        else:
            return path
    raise AssertionError("no quota became effective")


def is_counting(quota: Mapping[str, Any]) -> bool:
    return COUNTED in quota["status"].get("used", {})
