"""The part of whoever looks after storages, played by hand."""

from tests.support.site import OURS, Site


async def create_storage(site: Site, name: str) -> None:
    """What a person makes."""
    kind = {"apiVersion": OURS.removeprefix("/apis/"), "kind": "GPUStorage"}
    await site.create("gpustorages", {**kind, "metadata": {"name": name}, "spec": {"size": "1Gi"}})


async def make_ready(site: Site, name: str) -> None:
    """Give the storage its volume, and say so."""
    claims = f"/api/v1/namespaces/{site.namespaces.instance}/persistentvolumeclaims"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await site.admin.create(claims, {"metadata": {"name": name}, "spec": spec})
    path = f"{site.path('gpustorages', name)}/status"
    await site.admin.patch(path, {"status": {"phase": "Ready"}})
