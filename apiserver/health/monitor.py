"""The background task that keeps an eye on the cluster."""

import asyncio
import logging
from typing import Final, Protocol

from apiserver.clock import Clock
from apiserver.health.cluster_state import (
    ClusterState,
    answered,
    count_is_due,
    counted,
    inventory_of,
    lost,
    not_counted,
    require_supported,
)
from apiserver.health.unit_counts import UnitCounts
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Gateway

# Together below the 5 s in which health must tell of an outage.
PROBE_INTERVAL: Final = 2.0
PROBE_TIMEOUT: Final = 2.0

log = logging.getLogger(__name__)


class Counts(Protocol):
    """Somebody who can count units."""

    async def count(self) -> UnitCounts: ...


class ClusterMonitor:
    """Keeps `state` fresh, so that nobody who reads it waits for Kubernetes."""

    def __init__(self, gateway: Gateway, counter: Counts, clock: Clock) -> None:
        self._gateway = gateway
        self._counter = counter
        self._clock = clock
        self.state = ClusterState()

    async def run(self) -> None:
        """Probe for ever; a slow count does not hold up the next probe."""
        async with asyncio.TaskGroup() as group:
            counting: asyncio.Task[None] | None = None
            while True:
                await self.probe()
                idle = counting is None or counting.done()
                if idle and count_is_due(self.state, self._clock.monotonic()):
                    counting = group.create_task(self.count(), name="count")
                await self._clock.sleep(PROBE_INTERVAL)

    async def probe(self) -> None:
        """Ask the server once whether it is there."""
        try:
            version = await self._gateway.version(within=PROBE_TIMEOUT)
            require_supported(version, self._gateway.server)
        except kube_errors.ClusterError as error:
            self._become(lost(self.state, error, self._clock.monotonic()))
        else:
            self._become(answered(self.state, version, self._clock.monotonic()))

    async def count(self) -> None:
        """List the nodes and the units once."""
        try:
            inventory = inventory_of(await self._gateway.nodes())
            units = await self._counter.count()
        except kube_errors.ClusterError as error:
            self._become(not_counted(self.state, error, self._clock.monotonic()))
        else:
            self._become(counted(self.state, inventory, units, self._clock.monotonic()))

    def _become(self, state: ClusterState) -> None:
        was, self.state = self.state, state
        if state.connected and not was.connected:
            log.info("cluster_connected", extra={"server": self._gateway.server})
        if was.connected and not state.connected:
            log.warning("cluster_lost", extra={"kubeError": state.error})
