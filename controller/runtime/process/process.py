"""What every long-running process of ours begins and ends with."""

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
    """A registry with what every process tells of itself."""
    registry = CollectorRegistry()
    disable_created_metrics()  # type: ignore[no-untyped-call] # series that no dashboard knows
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=registry)
    return registry


def install_stop_signals() -> asyncio.Event:
    """Set by SIGTERM and SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of a group of failures, however deep it lies."""
    found = group.exceptions[0]
    return first_error(found) if isinstance(found, BaseExceptionGroup) else found
