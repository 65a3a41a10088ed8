"""Volumes of the local cluster: bound, grown and reclaimed."""

from typing import Any

import pytest

from hack.cluster.admin_client import AdminClient, ApiStatusError
from tests.support.builders.pods import is_ready, pod_manifest
from tests.support.wait.eventually import eventually

VOLUMES = "/api/v1/persistentvolumes"


class Claim:
    """A PersistentVolumeClaim for 1Gi in the test's namespace."""

    def __init__(self, admin: AdminClient, namespace: str) -> None:
        self._admin = admin
        self._claims = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"
        self._path = f"{self._claims}/data"

    async def create(self, storage_class: str) -> "Claim":
        spec = {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
        }
        await self._admin.create(self._claims, {"metadata": {"name": "data"}, "spec": spec})
        return self

    async def get(self) -> dict[str, Any]:
        claim: dict[str, Any] = await self._admin.get(self._path)
        return claim

    async def bound(self) -> dict[str, Any]:
        return await eventually(self.get, lambda claim: claim["status"]["phase"] == "Bound")

    async def grow(self, size: str) -> None:
        requests = {"requests": {"storage": size}}
        await self._admin.patch(self._path, {"spec": {"resources": requests}})

    async def delete(self) -> None:
        await self._admin.delete(self._path)


async def test_an_immediate_pvc_binds_and_grows_and_its_volume_is_reclaimed(
    admin: AdminClient, namespace: str
) -> None:
    claim = await Claim(admin, namespace).create("sim-now")
    volume = (await claim.bound())["spec"]["volumeName"]
    await claim.grow("3Gi")
    await eventually(claim.get, lambda c: c["status"]["capacity"]["storage"] == "3Gi")
    await claim.delete()

    async def volumes() -> set[str]:
        return {item["metadata"]["name"] for item in (await admin.get(VOLUMES))["items"]}

    await eventually(volumes, lambda names: volume not in names)


async def test_a_pvc_that_waits_for_its_first_consumer_binds_when_a_pod_uses_it(
    admin: AdminClient, namespace: str
) -> None:
    claim = await Claim(admin, namespace).create("sim-wait")
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await admin.create(pods, pod_manifest("reader", pvc="data"))
    await claim.bound()
    await eventually(lambda: admin.get(f"{pods}/reader"), is_ready)


async def test_a_pvc_without_volume_expansion_cannot_grow(
    admin: AdminClient, namespace: str
) -> None:
    claim = await Claim(admin, namespace).create("sim-fixed")
    await claim.bound()
    with pytest.raises(ApiStatusError, match="must support resize"):
        await claim.grow("3Gi")
