"""A worker inside the test's process, until it ends or crashes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import NATSCredentials
from serverless.nats.requests import JetStreamClient
from serverless.worker.clock import SystemClock
from serverless.worker.consume.decision import WorkerIdentity
from serverless.worker.framework.client import FrameworkEndpoint, open_framework_client
from serverless.worker.intervals import Intervals
from serverless.worker.nats_connection import worker_connection
from serverless.worker.worker import Worker
from shared.clock import Clock
from shared.invocation.queue_names import QueueNames

FAST_INTERVALS: Final = Intervals(
    heartbeat_seconds=0.5,
    report_seconds=1.0,
    retry_seconds=0.1,
    max_retry_seconds=1.0,
    health_check_seconds=0.5,
    pull_seconds=5.0,
)
# Without heartbeats an invocation always makes the same calls.
NO_HEARTBEAT_INTERVALS: Final = replace(FAST_INTERVALS, heartbeat_seconds=60.0)


@dataclass(frozen=True)
class WorkerOptions:
    """The options of a worker that a test may change."""

    name: str = "worker-1"
    queue: Callable[[QueueConnection], JetStreamClient] = JetStreamClient
    clock: Clock = field(default_factory=SystemClock)
    intervals: Intervals = FAST_INTERVALS


DEFAULT_OPTIONS: Final = WorkerOptions()


@asynccontextmanager
async def run_worker(
    nats_credentials: str | NATSCredentials,
    function_name: str,
    socket: Path,
    *,
    concurrency: int = 4,
    options: WorkerOptions = DEFAULT_OPTIONS,
) -> AsyncIterator[Worker]:
    """Run a worker of that function for the length of the block."""
    credentials = (
        nats_credentials
        if isinstance(nats_credentials, NATSCredentials)
        else NATSCredentials(nats_credentials)
    )
    connection = worker_connection(lambda: credentials, options.intervals, SystemClock())
    async with open_framework_client(FrameworkEndpoint(str(socket))) as framework:
        worker = Worker(
            WorkerIdentity(function_name, options.name, credentials.function_uid),
            concurrency,
            connection=connection,
            jetstream=options.queue(connection),
            queue_names=QueueNames(),
            inbox_prefix=credentials.inbox_prefix,
            framework=framework,
            registry=CollectorRegistry(),
            clock=options.clock,
            intervals=options.intervals,
        )
        async with worker.running():
            yield worker
