"""A worker inside the test's process, from its start to its end or its death."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry

from serverless.nats.credentials import NATSCredentials
from serverless.worker.clock import RecordClock, SystemRecordClock
from serverless.worker.consume.decision import WorkerIdentity
from serverless.worker.framework.client import FrameworkEndpoint, open_framework_client
from serverless.worker.intervals import Intervals
from serverless.worker.jetstream import WorkerJetStream
from serverless.worker.worker import Worker, WorkerDependencies
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
    """What may be particular about a worker."""

    name: str = "worker-1"
    queue: WorkerJetStream | None = None
    clock: RecordClock = field(default_factory=SystemRecordClock)
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
    """A worker of that function for the length of the block."""
    async with open_framework_client(FrameworkEndpoint(str(socket))) as framework:
        around = WorkerDependencies(
            options.queue or WorkerJetStream(QueueNames()),
            lambda: (
                nats_credentials
                if isinstance(nats_credentials, NATSCredentials)
                else NATSCredentials(nats_credentials)
            ),
            framework,
            CollectorRegistry(),
            options.clock,
            options.intervals,
        )
        identity = WorkerIdentity(
            function_name, options.name, around.credentials_source().function_uid
        )
        worker = Worker(around, identity, concurrency)
        async with worker.running():
            yield worker
