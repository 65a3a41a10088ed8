"""One installation of the product in namespaces of its own: many fit beside each other."""

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
# The garbage collector of a new cluster learns of our kinds only every thirty seconds, and later
# on a machine on which many other things run.
GARBAGE_COLLECTION_TIMEOUT_SECONDS = 120.0
# A client of a server that was paused notices in 45 s, and waits 30 s before it watches again.
MAX_WATCH_GAP_SECONDS = 120.0


@dataclass(frozen=True)
class IsolatedInstallation:
    """Its namespaces, and the administrator who looks at it from outside."""

    admin: AdminClient
    namespaces: Namespaces
    kubeconfig: Path
    api_kubeconfig: Path
    activator_kubeconfig: Path

    def path(self, resource: str, name: str = "", *, namespace: str = "") -> str:
        """Where `kind` is; without a namespace, where users' units are."""
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
        where = f"{root}/namespaces/{namespace or self.namespaces.instance}/{resource}"
        return f"{where}/{name}" if name else where

    async def get_unit(self, name: str, *, namespace: str = "") -> dict[str, Any]:
        found: dict[str, Any] = await self.admin.get(
            self.path("gpuunits", name, namespace=namespace)
        )
        return found

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
        """Wait until there is no such object."""

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
        """The unit once its Ready condition has that reason."""
        return await eventually(
            lambda: self.get_unit(name, namespace=namespace),
            lambda unit: ready_condition(unit).get("reason") == reason,
            timeout_seconds=timeout_seconds,
        )


def ready_condition(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The Ready condition, empty before there is one."""
    conditions = manifest.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found["type"] == "Ready"), {})


def unit_manifest(name: str, **spec: Any) -> dict[str, Any]:
    """A unit of one GPU; for users' units an image is added unless one is given."""
    given = {"specName": "g1.1", "memory": "1Gi", "gpu": 1, **spec}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "GPUUnit",
        "metadata": {"name": name},
        "spec": given,
    }


@asynccontextmanager
async def new_isolated_installation(plane: ControlPlane) -> AsyncIterator[IsolatedInstallation]:
    """Three namespaces with the roles of our accounts in them, for the length of the block."""
    suffix = secrets.token_hex(4)
    names = Namespaces(f"stock-{suffix}", f"instance-{suffix}", f"system-{suffix}")
    admin = plane.admin
    async with admin.keep_alive():
        for each in (names.stock, names.instance, names.system):
            await admin.create("/api/v1/namespaces", {"metadata": {"name": each}})
        await grant_roles(admin, names)
        await wait_service_accounts(admin, names)
        try:
            accounts = ("controller", "runtime-api", "activator")
            yield IsolatedInstallation(admin, names, *map(plane.layout.kubeconfig, accounts))
        finally:
            for each in names.units:
                await delete_workloads(admin, each)


async def delete_workloads(admin: AdminClient, namespace: str) -> None:
    """Delete what a cluster makes pods and volumes of, and the pods: they hold GPUs.

    All else stays until the cluster goes. To delete a namespace costs the cluster more requests
    than most tests, and the garbage collector sends two for each child of an object of ours.
    """
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    await asyncio.gather(
        *(
            delete_all(admin, kind)
            for kind in (f"{apps}/deployments", jobs, f"{core}/persistentvolumeclaims")
        )
    )
    # What is gone before the garbage collector comes to it costs one request instead of three.
    await delete_all(admin, f"{apps}/replicasets")
    await asyncio.gather(
        delete_all(admin, f"{core}/pods", gracePeriodSeconds="0"), remove_finalizers(admin, jobs)
    )


async def delete_all(admin: AdminClient, collection_path: str, **query: str) -> None:
    """Delete every object of a kind, and in the background what belongs to it."""
    query = {"propagationPolicy": "Background", **query}
    # A server that was started again a moment ago answers 429 first.
    await eventually(
        lambda: admin.request("DELETE", collection_path, query=query),
        lambda answer: True,
        tolerate=ApiStatusError,
    )


async def remove_finalizers(admin: AdminClient, collection_path: str) -> None:
    """Take the finalizers off all objects of a kind: nobody works here any more who would."""
    found = await eventually(lambda: admin.get(collection_path), tolerate=ApiStatusError)
    for each in found["items"]:
        if each["metadata"].get("finalizers"):
            with suppress(ApiStatusError):  # it may have gone meanwhile
                path = f"{collection_path}/{each['metadata']['name']}"
                await admin.patch(path, {"metadata": {"finalizers": None}})


async def wait_service_accounts(admin: AdminClient, names: Namespaces) -> None:
    """Wait until pods can be created in these namespaces."""
    for namespace in (names.stock, names.instance, names.system):
        await eventually(
            partial(admin.get, f"/api/v1/namespaces/{namespace}/serviceaccounts/default"),
            timeout_seconds=MAX_WATCH_GAP_SECONDS,
            tolerate=ApiStatusError,
        )
