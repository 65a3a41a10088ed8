"""A whole worker: its parts, how they hang together, and how it ends."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Final

from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

from serverless.nats.credentials import CredentialsSource
from serverless.worker.clock import RecordClock
from serverless.worker.connection import WorkerConnection
from serverless.worker.consume.decision import WorkerIdentity
from serverless.worker.consume.dispatcher import Dispatcher
from serverless.worker.consume.puller import Puller
from serverless.worker.consume.slots import Slots
from serverless.worker.framework.client import FrameworkClient
from serverless.worker.framework.health import MonitoredFramework
from serverless.worker.intervals import Intervals
from serverless.worker.jetstream import WorkerJetStream
from serverless.worker.memory_budget import MemoryBudgets
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.reporter import WorkerReporter
from serverless.worker.run.attempt import AttemptContext
from serverless.worker.run.body_store import BodyStore
from serverless.worker.run.finish import RunFinisher
from serverless.worker.run.record_store import RecordStore
from shared.config.version import product_version

RELEASE_TIMEOUT_SECONDS: Final = 10.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerDependencies:
    """What a worker is given from outside."""

    jetstream: WorkerJetStream
    credentials_source: CredentialsSource
    framework: FrameworkClient
    registry: CollectorRegistry
    clock: RecordClock
    intervals: Intervals


class Worker:
    """Pulls invocations of one function and runs them until it is told to drain."""

    def __init__(
        self, dependencies: WorkerDependencies, identity: WorkerIdentity, concurrency: int
    ) -> None:
        queue, pace = dependencies.jetstream, dependencies.intervals
        self._dependencies = dependencies
        self._identity = identity
        self._slots = Slots(concurrency, dependencies.clock)
        self._framework = MonitoredFramework(dependencies.framework, pace)
        metrics, records = (
            WorkerMetrics(dependencies.registry, identity.function_name),
            RecordStore(queue, pace),
        )
        place = AttemptContext(
            jetstream=queue,
            record_store=records,
            body_store=BodyStore(queue, identity.function_name, _new_id),
            framework=self._framework,
            memory_budgets=MemoryBudgets(),
            finisher=RunFinisher(queue, records, metrics, pace),
            clock=dependencies.clock,
            intervals=pace,
        )
        self._dispatcher = Dispatcher(place, identity, metrics)
        self._puller = Puller(queue, self._slots, self._framework, pace, self._dispatcher.dispatch)
        self._reporter = WorkerReporter(queue, identity, self._slots, pace)

    def not_ready(self) -> list[str]:
        """Why nothing can be run now; nothing if it can."""
        reasons = {
            "the queue does not answer": self._dependencies.jetstream.is_connected,
            "the framework does not answer": self._framework.healthy.is_set(),
            "the worker is draining": not self._puller.is_draining,
        }
        return [reason for reason, is_well in reasons.items() if not is_well]

    async def drain(self) -> None:
        """Pull no more, and wait until nothing runs."""
        if not self._puller.is_draining:
            log.info("draining", extra={"running": self._slots.running})
        self._reporter.is_draining = True
        self._puller.drain()
        await self._slots.idle.wait()

    async def stop(self, timeout_seconds: float) -> None:
        """Drain; what still runs after `seconds` is broken off, and left to another attempt."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self.drain()
        except TimeoutError:
            self._dispatcher.abandon()
            with suppress(TimeoutError):  # the ack wait does it then
                async with asyncio.timeout(RELEASE_TIMEOUT_SECONDS):
                    await self._slots.idle.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Work for the length of the block."""
        inbox = f"{self._dependencies.credentials_source().inbox_prefix}.{_new_id()}"
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._stay_connected(inbox), name="connection"),
                group.create_task(self._framework.run(), name="framework"),
                group.create_task(
                    self._puller.run(self._identity.function_name, inbox), name="pull"
                ),
                group.create_task(self._reporter.run(product_version()), name="report"),
            ]
            yield
            for task in tasks:
                task.cancel()

    async def _stay_connected(self, inbox: str) -> None:
        connection = WorkerConnection(
            self._dependencies.jetstream,
            self._dependencies.credentials_source,
            self._dependencies.intervals,
        )
        nudges = self._dependencies.jetstream.queue_names.cancellation_subject(
            self._identity.function_name
        )
        listeners = {inbox: self._on_message, nudges: self._on_cancellation}
        await connection.run(listeners, self._on_connected)

    def _on_connected(self) -> None:
        self._puller.restart()
        self._slots.changed.set()

    async def _on_message(self, msg: Msg) -> None:
        await self._puller.handle_message(msg.subject, msg.reply, msg.data, msg.headers or {})

    async def _on_cancellation(self, msg: Msg) -> None:
        self._dispatcher.check_record_now(msg.data.decode(errors="replace"))


def _new_id() -> str:
    return uuid.uuid4().hex
