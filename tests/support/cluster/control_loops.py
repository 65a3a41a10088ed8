"""Informers and control loops in the test's own process, on a real server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final

from prometheus_client import CollectorRegistry

from controller.runtime import (
    ControllerBuilder,
    ControlLoop,
    EventRecorder,
    ExponentialBackoff,
    Informer,
    TimerClock,
)
from controller.runtime.loop.loop_factory import LoopFactory
from controller.runtime.process import lifecycle
from controller.wiring import MAX_RETRY_SECONDS, MIN_RETRY_SECONDS
from tests.support.cluster.caches import UnstartedCaches

CONTROLLER_NAME: Final = "test"


def new_controller_builder(
    caches: UnstartedCaches, recorder: EventRecorder, clock: TimerClock
) -> ControllerBuilder:
    """Begin a controller over `caches`, as a manager does."""
    loops = LoopFactory(CollectorRegistry(), clock, Random(7))
    queue = loops.new_queue(
        CONTROLLER_NAME, ExponentialBackoff(MIN_RETRY_SECONDS, MAX_RETRY_SECONDS)
    )
    return ControllerBuilder(CONTROLLER_NAME, queue, caches.shared_caches, loops, recorder)


@asynccontextmanager
async def run_informers(informers: Sequence[Informer[Any]]) -> AsyncIterator[None]:
    """Run informers for the length of the block, which begins when they have synced."""
    async with lifecycle.running(informers):
        for informer in informers:
            await informer.synced()
        yield


@asynccontextmanager
async def run_control_loop(
    loop: ControlLoop, informers: Sequence[Informer[Any]]
) -> AsyncIterator[None]:
    """Run a control loop with its informers for the length of the block, and stop it cleanly."""
    stop = asyncio.Event()
    async with run_informers(informers), asyncio.TaskGroup() as group:
        group.create_task(loop.run(stop))
        try:
            yield
        finally:
            stop.set()
