"""Informers and control loops in the test's own process, on a real server."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from controller.runtime.cache.informer import Informer
from controller.runtime.loop.control_loop import ControlLoop
from controller.runtime.process import lifecycle


@asynccontextmanager
async def run_informers(informers: Sequence[Informer[Any]]) -> AsyncIterator[None]:
    """The informers run and have caught up for the length of the block."""
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
