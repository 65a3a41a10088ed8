"""A worker inside the test's process, from its start to its end or its death."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from serverless.nats.credentials import Access
from serverless.worker.clock import Clock, SystemClock
from serverless.worker.consume.decision import Identity
from serverless.worker.framework.client import FrameworkPlace, framework_at
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.worker import Surroundings, Worker
from shared.invocation.queue_names import QueueNames

QUICK: Final = Pace(heartbeat=0.5, report=1.0, retry=0.1, longest_retry=1.0, health=0.5, pull=5.0)
# Without heartbeats an invocation always makes the same calls.
STEADY: Final = replace(QUICK, heartbeat=60.0)


@dataclass(frozen=True)
class Traits:
    """What may be particular about a worker."""

    name: str = "worker-1"
    queue: Queue | None = None
    clock: Clock = field(default_factory=SystemClock)
    pace: Pace = QUICK


USUAL: Final = Traits()


@asynccontextmanager
async def a_worker(
    access: str | Access,
    request_id: str,
    socket: Path,
    *,
    concurrency: int = 4,
    traits: Traits = USUAL,
) -> AsyncIterator[Worker]:
    """A worker of that function for the length of the block."""
    async with framework_at(FrameworkPlace(str(socket))) as framework:
        around = Surroundings(
            traits.queue or Queue(QueueNames()),
            lambda: access if isinstance(access, Access) else Access(access),
            framework,
            CollectorRegistry(),
            traits.clock,
            traits.pace,
        )
        identity = Identity(request_id, traits.name, around.source().function_uid)
        worker = Worker(around, identity, concurrency)
        async with worker.working():
            yield worker
