"""A worker inside the test's process, from its start to its end or its death."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry

from serverless.worker.access import Access
from serverless.worker.clock import Clock, SystemClock
from serverless.worker.decision import Identity
from serverless.worker.framework_socket import FrameworkPlace, framework_at
from serverless.worker.pace import Pace
from serverless.worker.queue import Queue
from serverless.worker.worker import Surroundings, Worker
from shared.invocation.queue_names import QueueNames

QUICK = Pace(heartbeat=0.5, report=1.0, retry=0.1, longest_retry=1.0, health=0.5, pull=5.0)


@asynccontextmanager
async def a_worker(
    url: str,
    request_id: str,
    socket: Path,
    *,
    name: str = "worker-1",
    concurrency: int = 4,
    queue: Queue | None = None,
    clock: Clock | None = None,
    pace: Pace = QUICK,
) -> AsyncIterator[Worker]:
    """A worker of that function for the length of the block."""
    async with framework_at(FrameworkPlace(str(socket))) as framework:
        around = Surroundings(
            queue or Queue(QueueNames()),
            lambda: Access(url),
            framework,
            CollectorRegistry(),
            clock or SystemClock(),
            pace,
        )
        worker = Worker(around, Identity(request_id, name), concurrency)
        async with worker.working():
            yield worker
