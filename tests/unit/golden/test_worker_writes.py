"""Messages of a worker of release 0.1.0 (commit 0e22fbe) for the messages that it received.

That release made the data file. A worker may continue a run of another release, and activators of
other releases read its reports.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

import pytest
from nats.aio.client import Client
from prometheus_client import CollectorRegistry

from serverless.nats.requests import JetStreamClient
from serverless.worker.clock import SystemClock
from serverless.worker.consume.decision import WorkerIdentity
from serverless.worker.consume.dispatcher import Dispatcher
from serverless.worker.consume.slots import Slots
from serverless.worker.delivery import Delivery
from serverless.worker.framework.health import MonitoredFramework
from serverless.worker.framework.result import FrameworkResponse, FrameworkResult, NoResponse
from serverless.worker.intervals import Intervals
from serverless.worker.local.environment import OpenClient
from serverless.worker.memory_budget import MemoryBudgets
from serverless.worker.metrics import WorkerMetrics
from serverless.worker.reporter import WorkerReporter
from serverless.worker.run.attempt import AttemptContext
from serverless.worker.run.body_store import BodyStore
from serverless.worker.run.finish import RunFinisher
from serverless.worker.run.record_store import RecordStore
from shared.invocation.queue_names import QueueNames
from shared.time import ms_to_datetime
from tests.unit.golden.data import Case, cases
from tests.unit.golden.recorded_queue import RecordedQueue

NOW: Final = 1_767_225_601_000
REPLY: Final = "$JS.ACK.RUNTIME_INVOCATIONS.echo.1.2.1.1767225600000000000.0"


class StillClock(SystemClock):
    """Clock whose time does not change."""

    def now(self) -> datetime:
        return ms_to_datetime(NOW)


class RecordedFramework:
    """Framework that returns the response of the case, and records its calls."""

    def __init__(self, response: Mapping[str, Any] | None) -> None:
        self._response = response
        self.calls: list[dict[str, Any]] = []

    async def invoke(
        self, headers: Mapping[str, str], body: bytes | bytearray, _: object
    ) -> FrameworkResult:
        self.calls.append({"headers": dict(headers), "body": bytes(body).decode()})
        if self._response is None:
            return NoResponse("it went away")
        text = self._response["body"] * self._response.get("times", 1)
        return FrameworkResponse(
            status=self._response["status"],
            content_type=self._response["type"],
            headers=self._response["headers"],
            body=text.encode(),
            is_retryable=self._response.get("again", False),
        )


def queue_of(given: Mapping[str, Any]) -> tuple[RecordedQueue, JetStreamClient]:
    """Return a queue that holds the given messages, and the worker's client of it."""
    recorded = RecordedQueue(given.get("kept", {}))
    return recorded, JetStreamClient(OpenClient(cast(Client, recorded)))


async def dealt_with(given: Mapping[str, Any]) -> dict[str, Any]:
    """Dispatch one message; return the messages sent and the calls of the framework."""
    recorded, queue = queue_of(given)
    framework, pace, names = RecordedFramework(given.get("says")), Intervals(), QueueNames()
    metrics, records = WorkerMetrics(CollectorRegistry(), "echo"), RecordStore(queue, names, pace)
    place = AttemptContext(
        queue,
        names,
        records,
        BodyStore(queue, names, "echo", lambda: "id"),
        cast(MonitoredFramework, framework),
        MemoryBudgets(),
        RunFinisher(queue, names, records, metrics, pace),
        StillClock(),
        pace,
    )
    me = WorkerIdentity("echo", "echo-1", "uid-of-echo")
    sent_at = given.get("sent at", NOW)
    data, subject = given["message"].encode(), "runtime.serverless.invoke.echo.order-1"
    message = Delivery(subject, REPLY, data, {"Nats-Msg-Id": "1"}, 2, sent_at)
    await Dispatcher(place, me, metrics).dispatch(message)
    result = {"sent": recorded.sent, "calls": framework.calls}
    return {name: value for name, value in result.items() if value}


async def reported(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the report of a worker with so many runs."""
    recorded, queue = queue_of(given)
    slots = Slots(4, StillClock())
    for _ in range(given["runs"]):
        slots.acquire()
    reporter = WorkerReporter(
        queue, QueueNames(), WorkerIdentity("echo", "echo-1", "uid-of-echo"), slots, Intervals()
    )
    reporter.is_draining = given["drains"]
    await reporter._publish_report(reporter._build_report("0.1.0"))
    return recorded.sent


@pytest.mark.parametrize("case", cases("worker_writes", "messages"))
async def test_the_writes_about_a_message_are_those_of_the_release(case: Case) -> None:
    assert await dealt_with(case.given) == case.made


@pytest.mark.parametrize("case", cases("worker_writes", "reports"))
async def test_a_worker_report_is_that_of_the_release(case: Case) -> None:
    assert await reported(case.given) == case.made
