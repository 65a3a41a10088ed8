"""One installation of the product in its own namespaces; a cluster holds many of them."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from controller.namespaces import Namespaces
from hack.cluster.admin_client import AdminClient, ApiStatusError
from hack.cluster.control_plane import ControlPlane
from shared.v1alpha1.group import GROUP, VERSION
from tests.support.cluster.account_roles import grant_roles
from tests.support.wait.eventually import eventually

PRODUCT_API_PATH = f"/apis/{GROUP}/{VERSION}"
# The garbage collector of a new cluster discovers our kinds only every thirty seconds, and later
# on a busy machine.
GARBAGE_COLLECTION_TIMEOUT_SECONDS = 120.0
# A client of a paused server notices after 45 s, and waits 30 s before it watches again.
MAX_WATCH_GAP_SECONDS = 120.0


@dataclass(frozen=True)
class IsolatedInstallation:
    """The namespaces and kubeconfigs of an installation, and a client with all rights."""

    admin: AdminClient
    namespaces: Namespaces
    kubeconfig: Path
    api_kubeconfig: Path
    activator_kubeconfig: Path

    def path(self, resource: str, name: str = "", *, namespace: str = "") -> str:
        """Return the path of a resource; without a namespace, in the namespace of users' units."""
        root = {
            "pods": "/api/v1",
            "secrets": "/api/v1",
            "services": "/api/v1",
            "resourcequotas": "/api/v1",
            "limitranges": "/api/v1",
            "deployments": "/apis/apps/v1",
            "replicasets": "/apis/apps/v1",
            "networkpolicies": "/apis/networking.k8s.io/v1",
            "persistentvolumeclaims": "/api/v1",
            "jobs": "/apis/batch/v1",
            "events": "/apis/events.k8s.io/v1",
        }.get(resource, PRODUCT_API_PATH)
        collection = f"{root}/namespaces/{namespace or self.namespaces.instance}/{resource}"
        return f"{collection}/{name}" if name else collection

    async def get_unit(self, name: str, *, namespace: str = "") -> dict[str, Any]:
        unit: dict[str, Any] = await self.admin.get(
            self.path("gpuunits", name, namespace=namespace)
        )
        return unit

    async def get_stock(self, name: str) -> dict[str, Any]:
        return await self.get_unit(name, namespace=self.namespaces.stock)

    async def list(
        self, resource: str, *, namespace: str = "", **query: str
    ) -> list[dict[str, Any]]:
        listing = await self.admin.get(self.path(resource, namespace=namespace), **query)
        items: list[dict[str, Any]] = listing["items"]
        return items

    async def create(self, resource: str, body: Mapping[str, Any], *, namespace: str = "") -> Any:
        return await self.admin.create(self.path(resource, namespace=namespace), body)

    async def wait_gone(self, resource: str, name: str, *, namespace: str = "") -> None:
        """Wait until the object does not exist."""

        async def is_gone() -> bool:
            try:
                await self.admin.get(self.path(resource, name, namespace=namespace))
            except ApiStatusError as error:
                return error.status == 404
            return False

        await eventually(is_gone, timeout_seconds=GARBAGE_COLLECTION_TIMEOUT_SECONDS)

    async def wait_unit_reason(
        self,
        name: str,
        reason: str,
        *,
        namespace: str = "",
        timeout_seconds: float = MAX_WATCH_GAP_SECONDS,
    ) -> dict[str, Any]:
        """Return the unit once its Ready condition has that reason."""
        return await eventually(
            lambda: self.get_unit(name, namespace=namespace),
            lambda unit: ready_condition(unit).get("reason") == reason,
            timeout_seconds=timeout_seconds,
        )


def ready_condition(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the Ready condition; empty when it was never set."""
    conditions = manifest.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "Ready"), {})


def unit_manifest(name: str, **spec: Any) -> dict[str, Any]:
    """Return the manifest of a unit of one GPU; without an image it is a stock unit."""
    unit_spec = {"specName": "g1.1", "memory": "1Gi", "gpu": 1, **spec}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "GPUUnit",
        "metadata": {"name": name},
        "spec": unit_spec,
    }


@asynccontextmanager
async def new_isolated_installation(plane: ControlPlane) -> AsyncIterator[IsolatedInstallation]:
    """Create three namespaces with the roles of our accounts, for the length of the block."""
    suffix = secrets.token_hex(4)
    names = Namespaces(f"stock-{suffix}", f"instance-{suffix}", f"system-{suffix}")
    admin = plane.admin
    async with admin.keep_alive():
        for namespace in (names.stock, names.instance, names.system):
            await admin.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
        await grant_roles(admin, names)
        await wait_service_accounts(admin, names)
        try:
            accounts = ("controller", "runtime-api", "activator")
            yield IsolatedInstallation(admin, names, *map(plane.layout.kubeconfig, accounts))
        finally:
            for namespace in names.units:
                await delete_workloads(admin, namespace)


async def delete_workloads(admin: AdminClient, namespace: str) -> None:
    """Delete the pods of a namespace, and the objects that create pods and volumes.

    Pods hold GPUs. Other objects stay until the cluster ends: deleting a namespace costs more
    requests than most tests, and the garbage collector sends two for each child of our objects.
    """
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    await asyncio.gather(
        *(
            delete_all(admin, kind)
            for kind in (f"{apps}/deployments", jobs, f"{core}/persistentvolumeclaims")
        )
    )
    # An object that is gone before the garbage collector reaches it costs one request, not three.
    await delete_all(admin, f"{apps}/replicasets")
    await asyncio.gather(
        delete_all(admin, f"{core}/pods", gracePeriodSeconds="0"), remove_finalizers(admin, jobs)
    )


async def delete_all(admin: AdminClient, collection_path: str, **query: str) -> None:
    """Delete every object of a collection, and in the background the objects that it owns."""
    query = {"propagationPolicy": "Background", **query}
    # A server that has just restarted responds with 429 first.
    await eventually(
        lambda: admin.request("DELETE", collection_path, query=query),
        lambda response: True,
        tolerate=ApiStatusError,
    )


async def remove_finalizers(admin: AdminClient, collection_path: str) -> None:
    """Remove the finalizers of all objects of a collection: no controller does it any more."""
    listing = await eventually(lambda: admin.get(collection_path), tolerate=ApiStatusError)
    for item in listing["items"]:
        if item["metadata"].get("finalizers"):
            with suppress(ApiStatusError):  # it may have been deleted
                path = f"{collection_path}/{item['metadata']['name']}"
                await admin.patch(path, {"metadata": {"finalizers": None}})


async def wait_service_accounts(admin: AdminClient, names: Namespaces) -> None:
    """Wait until pods can be created in these namespaces."""
    for namespace in (names.stock, names.instance, names.system):
        await eventually(
            partial(admin.get, f"/api/v1/namespaces/{namespace}/serviceaccounts/default"),
            timeout_seconds=MAX_WATCH_GAP_SECONDS,
            tolerate=ApiStatusError,
        )
