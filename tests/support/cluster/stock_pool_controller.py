"""A stock pool controller in the test's own process, for one namespace."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from controller.caches import Caches
from controller.namespaces import Namespaces
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import ListerWatcher
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Client
from controller.runtime.clock import SystemClock
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.loop.loop_factory import LoopFactory
from controller.runtime.process.lifecycle import running as background
from controller.stockpool.reconciler import StockPoolReconciler
from controller.stockpool.setup import create_control_loop
from tests.support.cluster.control_loops import run_control_loop, run_informers


class InProcessStockPoolController:
    """A stock pool reconciler with its own caches, which follow `source` or else the client."""

    def __init__(self, client: Client, namespace: str, source: ListerWatcher | None = None) -> None:
        clock, randomness = SystemClock(), Random(7)
        metrics = InformerMetrics(CollectorRegistry())
        one_namespace = Namespaces(stock=namespace, instance=namespace, system=namespace)
        self.caches = Caches(source or client, one_namespace, metrics, clock, randomness)
        event_client = Client(client.rest, "stock-pool-test")  # no faults, and not counted
        self._recorder = EventRecorder(event_client, clock, randomness, "stock-pool-test", "test")
        self.reconciler = StockPoolReconciler(
            self.caches,
            client,
            Writer(client, self.caches.informers),
            self._recorder,
            clock,
        )
        loops = LoopFactory(CollectorRegistry(), clock, randomness)
        self._loop = create_control_loop(self.reconciler, self.caches, one_namespace, loops)

    @property
    def informers(self) -> tuple[Informer[Any], ...]:
        """Return the informers that the reconciler reads."""
        return (*self.caches.pools.informers, *self.caches.units.informers)

    def run_caches(self) -> AbstractAsyncContextManager[None]:
        """Run only the caches for the length of the block."""
        return run_informers(self.informers)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run the control loop, its caches and its events for the length of the block."""
        async with background([self._recorder]), run_control_loop(self._loop, self.informers):
            yield
