"""The product as it is deployed: a controller and two replicas of the API, on one site."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apiserver.http.paths import STOCK, UNITS
from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from tests.support.cluster.isolated_installation import LONGEST_WATCHLESS_SECONDS, Site, new_site
from tests.support.cluster.product_processes import running
from tests.support.http.api_client import Answer, Caller
from tests.support.wait.eventually import eventually

CATALOGUE = {
    "h1.small": {"memory": "1Gi", "cpu": "1", "description": "No GPU, for trials."},
    "h1.large": {"memory": "64Gi", "gpu": 2, "shmSize": "8Gi"},
}


@dataclass(frozen=True)
class Installation:
    """The site, and a caller for each replica of the API."""

    site: Site
    api: Caller
    replica: Caller

    async def stocked(self, count: int, spec_name: str = "", **envelope: Any) -> str:
        """A spec of which `count` stock units are ready; without GPUs unless they are asked for."""
        spec = spec_name or new_name("spec")
        await self.seed(spec, count, **envelope)
        await self.ready_stock(spec, count)
        return spec

    async def seed(self, spec: str, count: int, **envelope: Any) -> None:
        """Ask for `count` stock units of a spec, and do not wait for them."""
        asked = {} if spec in CATALOGUE else {"memory": "64Mi", **envelope}
        seed = {"operationID": new_name("seed"), "specName": spec, "replicas": count, **asked}
        assert (await self.api.post(STOCK, seed)).status == 202

    async def ready_stock(self, spec: str, count: int) -> list[dict[str, Any]]:
        """The stock of a spec that can be had, once there are `count` of it."""

        async def look() -> list[dict[str, Any]]:
            found = (await self.api.get(f"{STOCK}?specName={spec}&phase=Ready&limit=500")).data
            return [each for each in found if "claimedBy" not in each]

        return await eventually(
            look, lambda found: len(found) == count, seconds=LONGEST_WATCHLESS_SECONDS
        )

    async def a_unit(self, **asked: Any) -> Answer:
        """The answer to the creation of a unit from stock of its own."""
        spec = await self.stocked(1)
        answer = await self.api.post(UNITS, an_order(spec, **asked))
        assert answer.status == 201, answer.body
        return answer

    async def a_ready_unit(self, **asked: Any) -> str:
        """The name of a unit that runs."""
        name: str = (await self.a_unit(**asked)).data["name"]
        settled = (await self.api.get(f"{UNITS}/{name}?wait=Ready")).data
        assert settled["phase"] == "Ready", settled
        return name


def new_name(kind: str) -> str:
    """A name that no other test has."""
    return f"{kind}-{secrets.token_hex(4)}"


def an_order(spec: str, **asked: Any) -> dict[str, Any]:
    """What a caller sends to get a unit."""
    named = {"operationID": new_name("create"), "name": new_name("unit")}
    return {**named, "specName": spec, "image": "example/app:1", **asked}


@asynccontextmanager
async def new_installation(plane: ControlPlane, home: Path) -> AsyncIterator[Installation]:
    """Three processes with their accounts on a new site, for the length of the block."""
    async with new_site(plane) as site, AsyncExitStack() as processes:
        starts = (
            running(product_processes.CONTROLLER, home / "controller", controller_settings(site)),
            running(product_processes.RUNTIME_API, home / "one", api_settings(site)),
            running(product_processes.RUNTIME_API, home / "two", api_settings(site)),
        )
        _, one, two = await asyncio.gather(*map(processes.enter_async_context, starts))
        yield Installation(site, Caller(one.url), Caller(two.url))


def controller_settings(site: Site) -> dict[str, Any]:
    return {
        "kubeconfig": str(site.kubeconfig),
        "namespaces": namespaces(site),
        "leaderElection": {"namespace": site.namespaces.system},
    }


def api_settings(site: Site) -> dict[str, Any]:
    return {
        "kubeconfig": str(site.api_kubeconfig),
        "namespaces": namespaces(site),
        "specs": CATALOGUE,
    }


def namespaces(site: Site) -> dict[str, str]:
    names = site.namespaces
    return {"stock": names.stock, "instance": names.instance, "system": names.system}
