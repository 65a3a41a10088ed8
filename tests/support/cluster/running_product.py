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
from tests.support.cluster.isolated_installation import (
    MAX_WATCH_GAP_SECONDS,
    IsolatedInstallation,
    new_isolated_installation,
)
from tests.support.cluster.product_processes import ProductProcess, run_product_process
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.wait.eventually import eventually

SPEC_CATALOGUE = {
    "h1.small": {"memory": "1Gi", "cpu": "1", "description": "No GPU, for trials."},
    "h1.large": {"memory": "64Gi", "gpu": 2, "shmSize": "8Gi"},
}


@dataclass(frozen=True)
class RunningProduct:
    """The site, and a caller for each replica of the API."""

    installation: IsolatedInstallation
    api: ApiClient
    replica: ApiClient

    async def create_ready_stock(self, count: int, spec_name: str = "", **resources: Any) -> str:
        """A spec of which `count` stock units are ready; without GPUs unless they are asked for."""
        spec = spec_name or new_name("spec")
        await self.seed_stock(spec, count, **resources)
        await self.wait_ready_stock(spec, count)
        return spec

    async def seed_stock(self, spec: str, count: int, **resources: Any) -> None:
        """Ask for `count` stock units of a spec, and do not wait for them."""
        asked = {} if spec in SPEC_CATALOGUE else {"memory": "64Mi", **resources}
        seed = {"operationID": new_name("seed"), "specName": spec, "replicas": count, **asked}
        assert (await self.api.post(STOCK, seed)).status == 202

    async def wait_ready_stock(self, spec: str, count: int) -> list[dict[str, Any]]:
        """The stock of a spec that can be had, once there are `count` of it."""

        async def look() -> list[dict[str, Any]]:
            found = (await self.api.get(f"{STOCK}?specName={spec}&phase=Ready&limit=500")).data
            return [each for each in found if "claimedBy" not in each]

        return await eventually(
            look, lambda found: len(found) == count, timeout_seconds=MAX_WATCH_GAP_SECONDS
        )

    async def create_unit(self, **asked: Any) -> ApiResponse:
        """The answer to the creation of a unit from stock of its own."""
        spec = await self.create_ready_stock(1)
        answer = await self.api.post(UNITS, create_unit_request(spec, **asked))
        assert answer.status == 201, answer.body
        return answer

    async def create_ready_unit(self, **asked: Any) -> str:
        """The name of a unit that runs."""
        name: str = (await self.create_unit(**asked)).data["name"]
        settled = (await self.api.get(f"{UNITS}/{name}?wait=Ready")).data
        assert settled["phase"] == "Ready", settled
        return name


def new_name(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{secrets.token_hex(4)}"


def create_unit_request(spec_name: str, **asked: Any) -> dict[str, Any]:
    """What a caller sends to get a unit."""
    named = {"operationID": new_name("create"), "name": new_name("unit")}
    return {**named, "specName": spec_name, "image": "example/app:1", **asked}


@asynccontextmanager
async def new_running_product(
    plane: ControlPlane, state_dir: Path
) -> AsyncIterator[RunningProduct]:
    """Three processes with their accounts on a new site, for the length of the block."""
    async with new_isolated_installation(plane) as site, AsyncExitStack() as processes:
        starts = (
            run_product_process(
                product_processes.CONTROLLER, state_dir / "controller", controller_settings(site)
            ),
            run_product_process(
                product_processes.RUNTIME_API, state_dir / "one", api_settings(site)
            ),
            run_product_process(
                product_processes.RUNTIME_API, state_dir / "two", api_settings(site)
            ),
        )
        _, one, two = await asyncio.gather(*map(processes.enter_async_context, starts))
        yield RunningProduct(site, ApiClient(one.url), ApiClient(two.url))


def controller_settings(installation: IsolatedInstallation) -> dict[str, Any]:
    return {
        "kubeconfig": str(installation.kubeconfig),
        "namespaces": namespace_settings(installation),
        "leaderElection": {"namespace": installation.namespaces.system},
    }


def api_settings(installation: IsolatedInstallation) -> dict[str, Any]:
    return {
        "kubeconfig": str(installation.api_kubeconfig),
        "namespaces": namespace_settings(installation),
        "specs": SPEC_CATALOGUE,
    }


def namespace_settings(installation: IsolatedInstallation) -> dict[str, str]:
    names = installation.namespaces
    return {"stock": names.stock, "instance": names.instance, "system": names.system}


@asynccontextmanager
async def run_api(
    installation: IsolatedInstallation, state_dir: Path, **changes: Any
) -> AsyncIterator[ProductProcess]:
    """A ready API for the length of the block; its log is in a file, so that it never blocks."""
    async with run_product_process(
        product_processes.RUNTIME_API, state_dir, {**api_settings(installation), **changes}
    ) as product:
        yield product
