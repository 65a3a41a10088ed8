"""How many units there were at every moment of the server's history."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random

from prometheus_client import CollectorRegistry

from controller.kinds import GPU_UNITS
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Scope
from controller.runtime.cache.subscription import Notice
from controller.runtime.client.client import Client
from controller.runtime.client.kind import key_of
from controller.runtime.clock import SystemClock
from controller.runtime.key import ObjectKey
from controller.stockpool.stock import is_claimed, is_ready
from shared.v1alpha1.gpuunit import GPUUnit
from tests.support.cluster.control_loops import following
from tests.support.wait.eventually import eventually


class Census:
    """A handler that counts unclaimed units after each change; a watch leaves none out."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._units: dict[ObjectKey, GPUUnit] = {}
        self.most_unclaimed = 0
        self.fewest_ready = 0

    def __call__(self, notice: Notice[GPUUnit]) -> None:
        if notice.new is not None:
            self._units[key_of(notice.new)] = notice.new
        elif notice.old is not None:
            self._units.pop(key_of(notice.old), None)
        unclaimed = [unit for unit in self._units.values() if not is_claimed(unit)]
        self.most_unclaimed = max(self.most_unclaimed, len(unclaimed))
        self.fewest_ready = min(self.fewest_ready, self.ready)

    async def complete(self) -> None:
        """Wait until everything was counted that has happened so far."""

        async def is_complete() -> bool:
            listed = (await self._client.list(GPU_UNITS, self._namespace, {})).items
            return versions(listed) == versions(self._units.values())

        await eventually(is_complete)

    def begin(self) -> None:
        """Forget the past: what is ready now is the fewest so far."""
        self.fewest_ready = self.ready

    @property
    def ready(self) -> int:
        """How many unclaimed units are ready, as far as was heard."""
        units = self._units.values()
        return sum(is_ready(unit) and not is_claimed(unit) for unit in units)


def versions(units: Iterable[GPUUnit]) -> set[str]:
    return {unit.metadata.resource_version for unit in units}


@asynccontextmanager
async def counting(client: Client, namespace: str) -> AsyncIterator[Census]:
    """Count for the length of the block."""
    metrics = InformerMetrics(CollectorRegistry())
    scope = Scope(GPU_UNITS, namespace)
    informer = Informer(client, scope, metrics, SystemClock(), Random(7))
    census = Census(client, namespace)
    informer.subscribe(census)
    async with following([informer]):
        yield census
