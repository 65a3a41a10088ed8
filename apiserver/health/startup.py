"""Start of the cluster monitor: the first probe, then the regular ones."""

import asyncio
import logging
from typing import Final, Protocol

from apiserver.health.cluster_state import ClusterState
from apiserver.health.monitor import ClusterMonitor
from apiserver.health.status_log import StatusReporter
from shared.clock import Clock

RETRY_INTERVAL_SECONDS: Final = 1.0
LOG_INTERVAL_SECONDS: Final = 5.0

log = logging.getLogger(__name__)


class ClusterNotReadyError(Exception):
    """The cluster cannot be used, and waiting longer does not help."""


class ClusterProbe(Protocol):
    """A monitor that probes the cluster."""

    state: ClusterState

    async def probe(self) -> None:
        """Probe once; the result is in `state`."""
        ...


async def monitor_cluster(
    monitor: ClusterMonitor, reporter: StatusReporter, clock: Clock, timeout_seconds: float | None
) -> None:
    """Monitor and report until cancelled; with a timeout, wait for the cluster first."""
    if timeout_seconds is None:
        await monitor.probe()
    else:
        await wait_for_cluster(monitor, clock, timeout_seconds)
    if monitor.state.is_connected:
        await monitor.count()  # for the first report
    async with asyncio.TaskGroup() as group:
        group.create_task(monitor.run(), name="monitor")
        group.create_task(reporter.run(), name="report")


async def wait_for_cluster(monitor: ClusterProbe, clock: Clock, timeout_seconds: float) -> None:
    """Return when the cluster is connected; raises ClusterNotReadyError after the timeout."""
    started_at = clock.monotonic()
    logged_at: float | None = None
    await monitor.probe()
    while not monitor.state.is_connected:
        if monitor.state.is_too_old:  # an upgrade takes longer than any timeout
            raise ClusterNotReadyError(monitor.state.error)
        now = clock.monotonic()
        if now - started_at >= timeout_seconds:
            raise ClusterNotReadyError(
                f"no connection within {timeout_seconds:g} s: {monitor.state.error}"
            )
        if logged_at is None or now - logged_at >= LOG_INTERVAL_SECONDS:
            log.warning("waiting_for_cluster", extra={"kubeError": monitor.state.error})
            logged_at = now
        await clock.sleep(min(RETRY_INTERVAL_SECONDS, started_at + timeout_seconds - now))
        await monitor.probe()
