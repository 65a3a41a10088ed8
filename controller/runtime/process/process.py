"""Parts of every long-running process: a metrics registry, stop signals, its first error."""

import asyncio
import signal

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)


def new_registry() -> CollectorRegistry:
    """Create a registry with the metrics of the process, the platform and the garbage collector."""
    registry = CollectorRegistry()
    disable_created_metrics()  # type: ignore[no-untyped-call] # series that no dashboard knows
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


def install_stop_signals() -> asyncio.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error of a group, also from nested groups."""
    error = group.exceptions[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error
