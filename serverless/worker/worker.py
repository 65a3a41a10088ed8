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

from serverless.nats.credentials import AccessSource
from serverless.worker.clock import Clock
from serverless.worker.connection import Connection
from serverless.worker.consume.decision import Identity
from serverless.worker.consume.dispatcher import Reception
from serverless.worker.consume.puller import Puller
from serverless.worker.consume.slots import Slots
from serverless.worker.framework.client import FrameworkSocket
from serverless.worker.framework.health import FrameworkWatch
from serverless.worker.intervals import Pace
from serverless.worker.jetstream import Queue
from serverless.worker.memory_budget import Memories
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.reporter import Reporter
from serverless.worker.run.attempt import Workplace
from serverless.worker.run.body_store import Bodies
from serverless.worker.run.finish import Outlet
from serverless.worker.run.record_store import Records
from shared.config.version import version

RELEASE_SECONDS: Final = 10.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a worker is given from outside."""

    queue: Queue
    source: AccessSource
    framework: FrameworkSocket
    registry: CollectorRegistry
    clock: Clock
    pace: Pace


class Worker:
    """Pulls invocations of one function and runs them until it is told to drain."""

    def __init__(self, around: Surroundings, me: Identity, concurrency: int) -> None:
        queue, pace = around.queue, around.pace
        self._around = around
        self._me = me
        self._slots = Slots(concurrency, around.clock)
        self._watch = FrameworkWatch(around.framework, pace)
        metrics, records = WorkerMetrics(around.registry, me.request_id), Records(queue, pace)
        place = Workplace(
            queue=queue,
            records=records,
            bodies=Bodies(queue, me.request_id, _new_id),
            framework=self._watch,
            memories=Memories(),
            outlet=Outlet(queue, records, metrics, pace),
            clock=around.clock,
            pace=pace,
        )
        self._reception = Reception(place, me, metrics)
        self._puller = Puller(queue, self._slots, self._watch, pace, self._reception.receive)
        self._reporter = Reporter(queue, me, self._slots, pace)

    def not_ready(self) -> list[str]:
        """Why nothing can be run now; nothing if it can."""
        reasons = {
            "the queue does not answer": self._around.queue.is_connected,
            "the framework does not answer": self._watch.healthy.is_set(),
            "the worker is draining": not self._puller.is_draining,
        }
        return [reason for reason, is_well in reasons.items() if not is_well]

    async def drained(self) -> None:
        """Pull no more, and wait until nothing runs."""
        if not self._puller.is_draining:
            log.info("draining", extra={"running": self._slots.running})
        self._reporter.is_draining = True
        self._puller.drain()
        await self._slots.idle.wait()

    async def stop(self, seconds: float) -> None:
        """Drain; what still runs after `seconds` is broken off, and left to another attempt."""
        try:
            async with asyncio.timeout(seconds):
                await self.drained()
        except TimeoutError:
            self._reception.abandon()
            with suppress(TimeoutError):  # the ack wait does it then
                async with asyncio.timeout(RELEASE_SECONDS):
                    await self._slots.idle.wait()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Work for the length of the block."""
        inbox = f"{self._around.source().inbox_prefix}.{_new_id()}"
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._stay_connected(inbox), name="connection"),
                group.create_task(self._watch.run(), name="framework"),
                group.create_task(self._puller.run(self._me.request_id, inbox), name="pull"),
                group.create_task(self._reporter.run(version()), name="report"),
            ]
            yield
            for task in tasks:
                task.cancel()

    async def _stay_connected(self, inbox: str) -> None:
        connection = Connection(self._around.queue, self._around.source, self._around.pace)
        nudges = self._around.queue.names.nudge_subject(self._me.request_id)
        listeners = {inbox: self._on_message, nudges: self._on_nudge}
        await connection.run(listeners, self._on_connected)

    def _on_connected(self) -> None:
        self._puller.start_over()
        self._slots.changed.set()

    async def _on_message(self, msg: Msg) -> None:
        await self._puller.arrived(msg.subject, msg.reply, msg.data, msg.headers or {})

    async def _on_nudge(self, msg: Msg) -> None:
        self._reception.nudge(msg.data.decode(errors="replace"))


def _new_id() -> str:
    return uuid.uuid4().hex
