"""Builds the parts of a worker, runs them and stops them."""

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

from serverless.nats.connection import QueueConnection
from serverless.nats.requests import JetStreamClient
from serverless.worker.consume.decision import WorkerIdentity
from serverless.worker.consume.dispatcher import Dispatcher
from serverless.worker.consume.puller import Puller
from serverless.worker.consume.slots import Slots
from serverless.worker.framework.client import FrameworkClient
from serverless.worker.framework.health import MonitoredFramework
from serverless.worker.intervals import Intervals
from serverless.worker.memory_budget import MemoryBudgets
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.reporter import WorkerReporter
from serverless.worker.run.attempt import AttemptContext
from serverless.worker.run.body_store import BodyStore
from serverless.worker.run.finish import RunFinisher
from serverless.worker.run.record_store import RecordStore
from shared.clock import Clock
from shared.config.version import product_version
from shared.invocation.queue_names import QueueNames

RELEASE_TIMEOUT_SECONDS: Final = 10.0

log = logging.getLogger(__name__)


class Worker:
    """Pulls invocations of one function and runs them until it is drained."""

    def __init__(
        self,
        identity: WorkerIdentity,
        concurrency: int,
        *,
        connection: QueueConnection,
        jetstream: JetStreamClient,
        queue_names: QueueNames,
        inbox_prefix: str,
        framework: FrameworkClient,
        registry: CollectorRegistry,
        clock: Clock,
        intervals: Intervals,
    ) -> None:
        self._identity = identity
        self._connection = connection
        self._queue_names = queue_names
        self._inbox_prefix = inbox_prefix
        self._slots = Slots(concurrency, clock)
        self._framework = MonitoredFramework(framework, intervals)
        metrics = WorkerMetrics(registry, identity.function_name)
        record_store = RecordStore(jetstream, queue_names, intervals)
        context = AttemptContext(
            jetstream=jetstream,
            queue_names=queue_names,
            record_store=record_store,
            body_store=BodyStore(jetstream, queue_names, identity.function_name, _new_id),
            framework=self._framework,
            memory_budgets=MemoryBudgets(),
            finisher=RunFinisher(jetstream, queue_names, record_store, metrics, intervals),
            clock=clock,
            intervals=intervals,
        )
        self._dispatcher = Dispatcher(context, identity, metrics)
        self._puller = Puller(
            jetstream,
            queue_names,
            self._slots,
            self._framework,
            intervals,
            self._dispatcher.dispatch,
        )
        self._reporter = WorkerReporter(jetstream, queue_names, identity, self._slots, intervals)

    def not_ready(self) -> list[str]:
        """Return why no invocation can be run now; empty if one can."""
        checks = {
            "the queue is not connected": self._connection.is_connected,
            "the framework is not healthy": self._framework.healthy.is_set(),
            "the worker is draining": not self._puller.is_draining,
        }
        return [reason for reason, is_ok in checks.items() if not is_ok]

    async def drain(self) -> None:
        """Stop pulling, and wait until no invocation runs."""
        if not self._puller.is_draining:
            log.info("draining", extra={"running": self._slots.running})
        self._reporter.is_draining = True
        self._puller.drain()
        await self._slots.idle.wait()

    async def stop(self, timeout_seconds: float) -> None:
        """Drain; interrupt what still runs after the timeout and leave it to another attempt."""
        try:
            async with asyncio.timeout(timeout_seconds):
                await self.drain()
        except TimeoutError:
            self._dispatcher.abandon()
            with suppress(TimeoutError):  # the messages are redelivered after their ack wait
                async with asyncio.timeout(RELEASE_TIMEOUT_SECONDS):
                    await self._slots.idle.wait()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run invocations for the length of the block."""
        inbox = f"{self._inbox_prefix}.{_new_id()}"
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._run_connection(inbox), name="connection"),
                group.create_task(self._framework.run(), name="framework"),
                group.create_task(
                    self._puller.run(self._identity.function_name, inbox), name="pull"
                ),
                group.create_task(self._reporter.run(product_version()), name="report"),
            ]
            yield
            for task in tasks:
                task.cancel()

    async def _run_connection(self, inbox: str) -> None:
        cancellations = self._queue_names.cancellation_subject(self._identity.function_name)
        subscriptions = {inbox: self._on_message, cancellations: self._on_cancellation}
        await self._connection.run(subscriptions, self._on_connected)

    def _on_connected(self) -> None:
        self._puller.restart()
        self._slots.changed.set()

    async def _on_message(self, msg: Msg) -> None:
        await self._puller.handle_message(msg.subject, msg.reply, msg.data, msg.headers or {})

    async def _on_cancellation(self, msg: Msg) -> None:
        self._dispatcher.check_record_now(msg.data.decode(errors="replace"))


def _new_id() -> str:
    return uuid.uuid4().hex
