"""A stock pool controller in the test's own process, for one namespace."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any

from controller.namespaces import Namespaces
from controller.runtime import Client, EventRecorder, Informer, ListerWatcher, SystemClock, Writer
from controller.runtime.process.lifecycle import running as background
from controller.stockpool import setup
from controller.stockpool.reconciler import StockPoolReconciler
from tests.support.cluster.caches import UnstartedCaches
from tests.support.cluster.control_loops import (
    new_controller_builder,
    run_control_loop,
    run_informers,
)


class InProcessStockPoolController:
    """A stock pool reconciler with its own caches, which follow `source` or else the client."""

    def __init__(self, client: Client, namespace: str, source: ListerWatcher | None = None) -> None:
        clock = SystemClock()
        one_namespace = Namespaces(stock=namespace, instance=namespace, system=namespace)
        self.caches = UnstartedCaches(source or client, one_namespace, clock)
        event_client = Client(client.rest, "stock-pool-test")  # no faults, and not counted
        self._recorder = EventRecorder(event_client, clock, Random(7), "stock-pool-test", "test")
        writer = Writer(client, self.caches.informers)
        self.reconciler = StockPoolReconciler(self.caches, client, writer, self._recorder, clock)
        controller = new_controller_builder(self.caches, self._recorder, clock)
        setup.add_triggers(controller, one_namespace)
        controller.reconcile(self.reconciler, setup.WORKERS)
        self._loop = controller.loop

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
