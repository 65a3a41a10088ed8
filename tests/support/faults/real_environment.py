"""A schedule environment on a real server, with the real controller."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final

from apiserver.kube.port import KubeClient
from apiserver.specs.catalogue import Catalogue
from apiserver.wiring import ServiceSettings
from hack.cluster.admin_client import ApiStatusError
from tests.support.checks.operations_snapshot import OperationsSnapshot, wait_unchanged
from tests.support.clocks.fast_clock import FastClock
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import (
    MAX_WATCH_GAP_SECONDS,
    IsolatedInstallation,
    unit_manifest,
)
from tests.support.cluster.kube_gateway import PatientRestClient, open_gateway
from tests.support.faults.api_replicas import KubeServicesFactory
from tests.support.wait.eventually import eventually

API_WAIT_SECONDS: Final = 20.0


class RealEnvironment:
    """An installation whose stock uses no GPU, so that hundreds of units fit.

    `gateway` is the client of the processes that run in the test; `observer` is the test's own.
    """

    def __init__(
        self,
        installation: IsolatedInstallation,
        gateway: KubeClient,
        observer: KubeClient,
        seconds: float = API_WAIT_SECONDS,
    ) -> None:
        names = installation.namespaces
        self.observer = observer
        self.clock = FastClock()
        self.service_settings = ServiceSettings(
            names.stock, names.instance, names.system, Catalogue(), seconds
        )
        self._installation = installation
        self._gateway = gateway

    def gateway(self) -> KubeClient:
        return self._gateway

    def processes(self, randomness: Random) -> KubeServicesFactory:
        return KubeServicesFactory(self.service_settings, self.clock, randomness)

    async def run_controller(self, client: KubeClient) -> None:
        """Wait until cancelled: the real controller already runs with its own client."""
        await asyncio.Event().wait()

    async def create_ready_stock(self, name: str, spec: str) -> str:
        """Create a stock unit, wait until it is ready, and return its uid."""
        uid = await self._create_stock(name, spec)
        await eventually(lambda: self._was_ready(name), timeout_seconds=MAX_WATCH_GAP_SECONDS)
        return uid

    async def create_all_ready_stock(self, count: int, spec: str) -> set[str]:
        """Create `count` stock units, wait until all are ready, and return their uids."""
        names = (f"{spec}-stock-{number}" for number in range(count))
        uids = set(await asyncio.gather(*(self._create_stock(name, spec) for name in names)))
        await eventually(
            lambda: self._installation.list(
                "gpuunits", namespace=self.service_settings.stock_namespace
            ),
            lambda stock: (
                uids <= {unit["metadata"]["uid"] for unit in stock if is_ready_stock(unit)}
            ),
            timeout_seconds=MAX_WATCH_GAP_SECONDS,
        )
        return uids

    async def _create_stock(self, name: str, spec: str) -> str:
        body = unit_manifest(name, specName=spec, gpu=0, memory="1Mi")
        created = await self._installation.create(
            "gpuunits", body, namespace=self.service_settings.stock_namespace
        )
        return str(created["metadata"]["uid"])

    async def _was_ready(self, name: str) -> bool:
        """Return whether the stock unit is ready, or was consumed."""
        try:
            return is_ready_stock(await self._installation.get_stock(name))
        except ApiStatusError as error:
            return error.status == 404

    def recorded_ready_uids(self) -> frozenset[str]:
        """Return no uids: this environment does not record them."""
        return frozenset()

    async def wait_final_snapshot(self) -> OperationsSnapshot:
        """Return the snapshot when the cluster no longer changes."""
        return await wait_unchanged(
            lambda: OperationsSnapshot.take(self.observer, self.service_settings), self.clock
        )


def is_ready_stock(stock: Mapping[str, Any]) -> bool:
    return bool(stock.get("status", {}).get("phase") == "Ready")


@asynccontextmanager
async def new_real_environment(
    installation: IsolatedInstallation, api_wait_seconds: float = API_WAIT_SECONDS
) -> AsyncIterator[RealEnvironment]:
    """Run a controller, and open the clients, for the length of the block.

    The API responds after `api_wait_seconds` of the fast clock, also when an operation is
    unfinished.
    """
    async with (
        open_gateway(installation.api_kubeconfig) as gateway,
        open_gateway(installation.api_kubeconfig, client_class=PatientRestClient) as observer,
        run_controller(installation),
    ):
        yield RealEnvironment(installation, gateway, observer, api_wait_seconds)
