"""The product as it is deployed: a controller and two replicas of the API, in one installation."""

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
    """An installation, and a client for each replica of its API."""

    installation: IsolatedInstallation
    api: ApiClient
    replica: ApiClient

    async def create_ready_stock(self, count: int, spec_name: str = "", **resources: Any) -> str:
        """Create `count` ready stock units, by default without GPUs; returns the spec's name."""
        spec = spec_name or new_name("spec")
        await self.seed_stock(spec, count, **resources)
        await self.wait_ready_stock(spec, count)
        return spec

    async def seed_stock(self, spec: str, count: int, **resources: Any) -> None:
        """Request `count` stock units of a spec, and do not wait for them."""
        envelope = {} if spec in SPEC_CATALOGUE else {"memory": "64Mi", **resources}
        seed = {"operationID": new_name("seed"), "specName": spec, "replicas": count, **envelope}
        assert (await self.api.post(STOCK, seed)).status == 202

    async def wait_ready_stock(self, spec: str, count: int) -> list[dict[str, Any]]:
        """Return the unclaimed ready stock of a spec, once there are `count` units of it."""

        async def unclaimed() -> list[dict[str, Any]]:
            stock = (await self.api.get(f"{STOCK}?specName={spec}&phase=Ready&limit=500")).data
            return [unit for unit in stock if "claimedBy" not in unit]

        return await eventually(
            unclaimed, lambda units: len(units) == count, timeout_seconds=MAX_WATCH_GAP_SECONDS
        )

    async def create_unit(self, **fields: Any) -> ApiResponse:
        """Create a unit from stock of its own, and return the response."""
        spec = await self.create_ready_stock(1)
        response = await self.api.post(UNITS, create_unit_request(spec, **fields))
        assert response.status == 201, response.body
        return response

    async def create_ready_unit(self, **fields: Any) -> str:
        """Create a unit and wait until it is ready; returns its name."""
        name: str = (await self.create_unit(**fields)).data["name"]
        unit = (await self.api.get(f"{UNITS}/{name}?wait=Ready")).data
        assert unit["phase"] == "Ready", unit
        return name


def new_name(prefix: str) -> str:
    """Return a name that no other test uses."""
    return f"{prefix}-{secrets.token_hex(4)}"


def create_unit_request(spec_name: str, **fields: Any) -> dict[str, Any]:
    """Return the request body of a create."""
    names = {"operationID": new_name("create"), "name": new_name("unit")}
    return {**names, "specName": spec_name, "image": "example/app:1", **fields}


@asynccontextmanager
async def new_running_product(
    plane: ControlPlane, state_dir: Path
) -> AsyncIterator[RunningProduct]:
    """Run a controller and two replicas in a new installation, for the length of the block."""
    async with new_isolated_installation(plane) as installation, AsyncExitStack() as processes:
        starts = (
            run_product_process(
                product_processes.CONTROLLER,
                state_dir / "controller",
                controller_settings(installation),
            ),
            run_product_process(
                product_processes.RUNTIME_API, state_dir / "one", api_settings(installation)
            ),
            run_product_process(
                product_processes.RUNTIME_API, state_dir / "two", api_settings(installation)
            ),
        )
        _, one, two = await asyncio.gather(*map(processes.enter_async_context, starts))
        yield RunningProduct(installation, ApiClient(one.url), ApiClient(two.url))


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
    """Run the API for the length of the block; its log is a file, so that it never blocks."""
    async with run_product_process(
        product_processes.RUNTIME_API, state_dir, {**api_settings(installation), **changes}
    ) as api:
        yield api
