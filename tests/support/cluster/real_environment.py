"""A site on a real server, with the real controller, as a place where operations run."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final

from apiserver.kube.port import Cluster
from apiserver.specs.catalogue import Catalogue
from apiserver.wiring import Surroundings
from hack.cluster.admin_client import RefusedError
from tests.support.checks.operations_snapshot import Snapshot, still
from tests.support.clocks.fast_clock import HurriedClock
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import LONGEST_WATCHLESS_SECONDS, Site, a_unit
from tests.support.cluster.kube_gateway import ObserverClient, gateway_of
from tests.support.cluster.processes import Processes
from tests.support.wait.eventually import eventually

ANSWER_SECONDS: Final = 20.0


class RealWorld:
    """Stock takes no GPU here, so that hundreds fit.

    `gateway` is the way to Kubernetes of the processes that run in the test.
    """

    def __init__(
        self, site: Site, gateway: Cluster, observer: Cluster, seconds: float = ANSWER_SECONDS
    ) -> None:
        names = site.namespaces
        self.observer = observer
        self.clock = HurriedClock()
        self.where = Surroundings(names.stock, names.instance, names.system, Catalogue(), seconds)
        self._site = site
        self._gateway = gateway

    def cluster(self) -> Cluster:
        return self._gateway

    def processes(self, randomness: Random) -> Processes:
        return Processes(self.where, self.clock, randomness)

    async def control(self, client: Cluster) -> None:
        """It runs beside, with its own account and its own way to the server."""
        await asyncio.Event().wait()

    async def put(self, name: str, spec: str) -> str:
        """Ready stock; its uid."""
        uid = await self._create(name, spec)
        await eventually(lambda: self._was_ready(name), seconds=LONGEST_WATCHLESS_SECONDS)
        return uid

    async def put_all(self, count: int, spec: str) -> set[str]:
        """Make `count` units of stock and wait until all are ready; returns their uids."""
        names = (f"{spec}-stock-{number}" for number in range(count))
        uids = set(await asyncio.gather(*(self._create(name, spec) for name in names)))
        await eventually(
            lambda: self._site.list("gpuunits", namespace=self.where.stock),
            lambda stock: uids <= {each["metadata"]["uid"] for each in stock if is_ready(each)},
            seconds=LONGEST_WATCHLESS_SECONDS,
        )
        return uids

    async def _create(self, name: str, spec: str) -> str:
        body = a_unit(name, specName=spec, gpu=0, memory="1Mi")
        made = await self._site.create("gpuunits", body, namespace=self.where.stock)
        return str(made["metadata"]["uid"])

    async def _was_ready(self, name: str) -> bool:
        """Also what somebody has taken already."""
        try:
            return is_ready(await self._site.stock(name))
        except RefusedError as error:
            return error.status == 404

    def ever_ready(self) -> frozenset[str]:
        """Nobody has kept that here."""
        return frozenset()

    async def left(self) -> Snapshot:
        """What there is once it no longer changes."""
        return await still(lambda: Snapshot.of(self.observer, self.where), self.clock)


def is_ready(stock: Mapping[str, Any]) -> bool:
    return bool(stock.get("status", {}).get("phase") == "Ready")


@asynccontextmanager
async def real_world(site: Site, seconds: float = ANSWER_SECONDS) -> AsyncIterator[RealWorld]:
    """The world of a site, with a controller, for the length of the block.

    `seconds` of the hurried clock after it was asked the API answers, finished or not.
    """
    async with (
        gateway_of(site.api_kubeconfig) as gateway,
        gateway_of(site.api_kubeconfig, client=ObserverClient) as observer,
        controlled(site),
    ):
        yield RealWorld(site, gateway, observer, seconds)
