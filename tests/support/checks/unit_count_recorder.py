"""The number of units after every change, by a watch."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import Random

from prometheus_client import CollectorRegistry

from controller.kinds import GPU_UNITS
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.cache.subscription import ChangeNotification
from controller.runtime.client.client import Client
from controller.runtime.client.kind import key_of
from controller.runtime.clock import SystemClock
from controller.runtime.key import ObjectKey
from controller.stockpool.stock import is_unit_ready
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stock_claim import is_claimed
from tests.support.cluster.control_loops import run_informers
from tests.support.wait.eventually import eventually


class UnitCountRecorder:
    """A watch handler that counts unclaimed units after each change."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._units: dict[ObjectKey, GPUUnit] = {}
        self.max_unclaimed = 0
        self.min_ready = 0

    def __call__(self, notice: ChangeNotification[GPUUnit]) -> None:
        if notice.new is not None:
            self._units[key_of(notice.new)] = notice.new
        elif notice.old is not None:
            self._units.pop(key_of(notice.old), None)
        unclaimed = [unit for unit in self._units.values() if not is_claimed(unit)]
        self.max_unclaimed = max(self.max_unclaimed, len(unclaimed))
        self.min_ready = min(self.min_ready, self.ready_count)

    async def wait_caught_up(self) -> None:
        """Wait until every change so far is counted."""

        async def is_complete() -> bool:
            listed = (await self._client.list(GPU_UNITS, self._namespace, {})).items
            return resource_versions(listed) == resource_versions(self._units.values())

        await eventually(is_complete)

    def reset(self) -> None:
        """Reset the minimum to the present number of ready units."""
        self.min_ready = self.ready_count

    @property
    def ready_count(self) -> int:
        """Return the number of ready unclaimed units in the watch."""
        units = self._units.values()
        return sum(is_unit_ready(unit) and not is_claimed(unit) for unit in units)


def resource_versions(units: Iterable[GPUUnit]) -> set[str]:
    return {unit.metadata.resource_version for unit in units}


@asynccontextmanager
async def record_unit_counts(client: Client, namespace: str) -> AsyncIterator[UnitCountRecorder]:
    """Count units for the length of the block."""
    metrics = InformerMetrics(CollectorRegistry())
    scope = WatchScope(GPU_UNITS, namespace)
    informer = Informer(client, scope, metrics, SystemClock(), Random(7))
    recorder = UnitCountRecorder(client, namespace)
    informer.subscribe(recorder)
    async with run_informers([informer]):
        yield recorder
