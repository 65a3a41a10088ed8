"""The background task that probes the cluster and counts its nodes and units."""

import asyncio
import logging
from typing import Final, Protocol

from apiserver.health.cluster_state import (
    ClusterState,
    count_failed,
    count_succeeded,
    inventory_of,
    is_count_due,
    probe_failed,
    probe_succeeded,
    require_supported_version,
)
from apiserver.health.unit_counts import UnitCounts
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ClusterReader
from shared.clock import Clock

# Together below the 5 s in which health must report an outage.
PROBE_INTERVAL_SECONDS: Final = 2.0
PROBE_TIMEOUT_SECONDS: Final = 2.0

log = logging.getLogger(__name__)


class UnitCountSource(Protocol):
    """A source of unit counts."""

    async def count(self) -> UnitCounts: ...


class ClusterMonitor:
    """A monitor that keeps `state` up to date, so that readers never wait for Kubernetes."""

    def __init__(self, gateway: ClusterReader, counter: UnitCountSource, clock: Clock) -> None:
        self._gateway = gateway
        self._counter = counter
        self._clock = clock
        self.state = ClusterState()

    async def run(self) -> None:
        """Probe until cancelled; a slow count does not delay the next probe."""
        async with asyncio.TaskGroup() as group:
            counting: asyncio.Task[None] | None = None
            while True:
                await self.probe()
                is_idle = counting is None or counting.done()
                if is_idle and is_count_due(self.state, self._clock.monotonic()):
                    counting = group.create_task(self.count(), name="count")
                await self._clock.sleep(PROBE_INTERVAL_SECONDS)

    async def probe(self) -> None:
        """Probe the API server once."""
        try:
            version = await self._gateway.server_version(timeout_seconds=PROBE_TIMEOUT_SECONDS)
            require_supported_version(version, self._gateway.server)
        except kube_errors.KubeError as error:
            self._set_state(probe_failed(self.state, error, self._clock.monotonic()))
        else:
            self._set_state(probe_succeeded(self.state, version, self._clock.monotonic()))

    async def count(self) -> None:
        """Count the nodes and the units once."""
        try:
            inventory = inventory_of(await self._gateway.list_nodes())
            units = await self._counter.count()
        except kube_errors.KubeError as error:
            self._set_state(count_failed(self.state, error, self._clock.monotonic()))
        else:
            self._set_state(count_succeeded(self.state, inventory, units, self._clock.monotonic()))

    def _set_state(self, state: ClusterState) -> None:
        previous, self.state = self.state, state
        if state.is_connected and not previous.is_connected:
            log.info("cluster_connected", extra={"server": self._gateway.server})
        if previous.is_connected and not state.is_connected:
            log.warning("cluster_lost", extra={"kubeError": state.error})
