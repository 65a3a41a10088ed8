"""One function at a real queue, without Kubernetes: streams, callers and stored data."""

import base64
import json
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import nats
import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from hack.cluster.nats_server import NATSServer
from serverless.nats.cancellation import preserve_cancellation
from serverless.worker.clock import SystemClock
from shared.clock import Clock
from shared.invocation import message, transition, worker_report
from shared.invocation import record as codec
from shared.invocation.message import call_message
from shared.invocation.queue_names import QueueNames, consumer_name, record_key, worker_report_key
from shared.invocation.record import InvocationBody, InvocationRecord, InvocationRequest
from shared.invocation.streams import (
    JetStreamConfig,
    StreamLimits,
    body_bucket_config,
    consumer_config,
    stream_configs,
)
from shared.invocation.worker_report import WorkerReport
from shared.time import now_ms
from tests.support.checks.invocation_checks import (
    Execution,
    InvocationSnapshot,
    RecordVersion,
    find_violations,
    is_finished,
)
from tests.support.wait.eventually import eventually

RECORD_HISTORY = 64
ACK_WAIT_SECONDS = 2.0
# For tests that count attempts: a slow machine must not cause another one.
LONG_ACK_WAIT_SECONDS = 20.0
# The default of nats-py, five seconds, is too short where many functions are created at once.
REQUEST_TIMEOUT_SECONDS = 30.0
# Longer than any pause between two reads of a consumer.
CONSUMER_INACTIVE_SECONDS = 60.0


class FunctionHarness:
    """The actions of callers and observers at the queue, with the accepted invocations."""

    def __init__(
        self,
        client: Client,
        function_name: str,
        clock: Clock | None = None,
        history: int = RECORD_HISTORY,
    ) -> None:
        self.client = client
        self._js = client.jetstream(timeout=REQUEST_TIMEOUT_SECONDS)
        self.function_name = function_name
        self.function_uid = f"uid-of-{function_name}"
        self.names = QueueNames()
        self.clock = clock or SystemClock()
        self._history = history
        self.accepted: list[str] = []
        self.executions: list[Execution] = []

    async def create_streams(self, ack_wait: float = ACK_WAIT_SECONDS) -> None:
        """Create the streams, with record history, and the consumer of the function."""
        limits = StreamLimits()
        for stream_config in (
            *stream_configs(self.names, limits),
            body_bucket_config(self.names, limits, self.function_name),
        ):
            await self._jetstream_request(
                f"STREAM.CREATE.{stream_config['name']}", self._with_history(stream_config)
            )
        config = consumer_config(self.names, self.function_name, 4) | {
            "ack_wait": int(ack_wait * 1e9)
        }
        stream = self.names.invocations_stream
        consumer_path = f"{stream}.{consumer_name(self.function_name)}.{config['filter_subject']}"
        await self._jetstream_request(
            f"CONSUMER.CREATE.{consumer_path}", {"stream_name": stream, "config": config}
        )

    async def keep_record_history(self) -> None:
        """Keep every later version of a record, in streams that already exist."""
        for stream_config in map(self._with_history, stream_configs(self.names, StreamLimits())):
            await self._jetstream_request(f"STREAM.UPDATE.{stream_config['name']}", stream_config)

    def _with_history(self, config: JetStreamConfig) -> JetStreamConfig:
        has_records = config["name"] == f"KV_{self.names.record_bucket}"
        history = {"max_msgs_per_subject": self._history, "discard": "old"}
        return config | history if has_records else config

    async def submit(self, invocation_id: str, **request: Any) -> None:
        """Accept an invocation as the API does: the record, then the message."""
        await self.publish_call(invocation_id, await self.create_record(invocation_id, **request))

    async def create_record(self, invocation_id: str, **request: Any) -> InvocationRecord:
        """Create the record of an invocation, and no message."""
        record = transition.new_record(
            InvocationRequest(**{"timeout_seconds": 60, **request}),
            self.function_uid,
            "hash",
            now_ms(self.clock),
        )
        await self.write_record(invocation_id, record, 0)
        self.accepted.append(record_key(self.function_name, invocation_id))
        return record

    async def publish_call(self, invocation_id: str, record: InvocationRecord) -> None:
        """Publish the message of a record's current run."""
        call = call_message(self.function_name, invocation_id, record)
        await self.publish_raw(invocation_id, message.encode_message(call))

    async def publish_raw(self, invocation_id: str, data: bytes) -> None:
        """Publish bytes on the subject of an invocation."""
        subject = self.names.call_subject(self.function_name, invocation_id)
        await self._js.publish(subject, data)

    async def write_record(
        self, invocation_id: str, record: InvocationRecord, revision: int
    ) -> None:
        """Write a record if `revision` is its latest."""
        subject = self.names.record_subject(record_key(self.function_name, invocation_id))
        headers = {"Nats-Expected-Last-Subject-Sequence": str(revision)}
        await self._js.publish(subject, codec.encode_record(record), headers=headers)

    async def read_record(self, invocation_id: str) -> tuple[InvocationRecord, int]:
        """Return a record and its revision."""
        key = record_key(self.function_name, invocation_id)
        stream = f"KV_{self.names.record_bucket}"
        subject = self.names.record_subject(key)
        stored = await self._js.get_last_msg(stream, subject, direct=True)
        assert stored.seq is not None
        return codec.decode_record(stored.data or b""), stored.seq

    async def cancel(self, invocation_id: str, *, notify_worker: bool = True) -> None:
        """Mark a record as cancelling and notify the worker as the API does, unless it is final."""
        record, revision = await self.read_record(invocation_id)
        if record.is_final:
            return
        try:
            await self.write_record(invocation_id, transition.cancelling(record), revision)
        except nats.js.errors.APIError:
            await self.cancel(invocation_id, notify_worker=notify_worker)
            return
        if notify_worker:
            subject = self.names.cancellation_subject(self.function_name)
            await self.client.publish(subject, invocation_id.encode())

    async def redrive(self, invocation_id: str) -> None:
        """Redrive a final invocation; publish its message once the old one is deleted."""
        record, revision = await self.read_record(invocation_id)
        redriven = transition.redriven(record, now_ms(self.clock))
        await self.write_record(invocation_id, redriven, revision)
        await eventually(
            lambda: self._try_publish_call(invocation_id, redriven),
            tolerate=nats.js.errors.APIError,
        )

    async def _try_publish_call(self, invocation_id: str, record: InvocationRecord) -> bool:
        await self.publish_call(invocation_id, record)
        return True

    async def worker_report(self, worker: str) -> WorkerReport | None:
        """Return the latest report of a worker; None before the first."""
        bucket = self.names.worker_bucket
        subject = f"$KV.{bucket}.{worker_report_key(self.function_name, worker)}"
        try:
            stored = await self._js.get_last_msg(f"KV_{bucket}", subject, direct=True)
        except nats.js.errors.NotFoundError:
            return None
        return worker_report.decode_report(stored.data or b"")

    async def is_queue_empty(self) -> bool:
        """Return whether the queue has no message."""
        return not await self._queued_keys()

    async def delivery_count(self) -> int:
        """Return the number of deliveries to workers, including redeliveries."""
        info = await self._js.consumer_info(
            self.names.invocations_stream, consumer_name(self.function_name)
        )
        assert info.delivered is not None
        return int(info.delivered.consumer_seq)

    async def put_body(self, name: str, data: bytes) -> InvocationBody:
        """Store an object, as any client of the object store does."""
        store = await self._js.object_store(self.names.body_bucket_name(self.function_name))
        await store.put(name, data)
        return InvocationBody(object_name=name, size=len(data))

    async def put_malformed_body(self, name: str, info: bytes) -> InvocationBody:
        """Store an object with invalid metadata."""
        encoded_name = base64.urlsafe_b64encode(name.encode()).decode()
        bucket = self.names.body_bucket_name(self.function_name)
        await self.client.jetstream().publish(f"$O.{bucket}.M.{encoded_name}", info)
        return InvocationBody(object_name=name, size=1)

    async def read_body(self, body: InvocationBody) -> bytes:
        """Return the bytes of a result, inline or from the object store."""
        if not body.object_name:
            return body.inline
        store = await self._js.object_store(self.names.body_bucket_name(self.function_name))
        return (await store.get(body.object_name)).data or b""

    async def snapshot(self) -> InvocationSnapshot:
        """Return the present records, messages and outcomes of this function.

        The message of an invocation is deleted last, so messages are read first.
        """
        queued = await self._queued_keys()
        versions: dict[str, list[RecordVersion]] = defaultdict(list)
        prefix = f"$KV.{self.names.record_bucket}."
        for msg in await self._stream_messages(
            f"KV_{self.names.record_bucket}", f"{prefix}{self.function_name}.>"
        ):
            stored_at = int(msg.metadata.timestamp.timestamp() * 1000)
            versions[msg.subject.removeprefix(prefix)].append(
                RecordVersion(codec.decode_record(msg.data), stored_at)
            )
        results = self.names.result_subject(self.function_name)
        letters = self.names.dead_letter_subject(self.function_name)
        return InvocationSnapshot(
            accepted=tuple(self.accepted),
            versions=versions,
            outcomes=[
                message.decode_outcome(stored.data)
                for stored in await self._stream_messages(self.names.results_stream, results)
            ],
            dead_letters=[
                message.decode_dead_letter(stored.data)
                for stored in await self._stream_messages(self.names.dead_letter_stream, letters)
            ],
            executions=tuple(self.executions),
            queued_keys=queued,
        )

    async def wait_finished(self, *, timeout_seconds: float = 90.0) -> InvocationSnapshot:
        """Return the snapshot once all is finished; raises AssertionError with each violation."""
        snapshot = await eventually(self.snapshot, is_finished, timeout_seconds=timeout_seconds)
        if violations := find_violations(snapshot):
            raise AssertionError("\n".join(violations))
        return snapshot

    async def _queued_keys(self) -> list[str]:
        stream, calls = self.names.invocations_stream, self.names.call_filter(self.function_name)
        query = {"subjects_filter": calls}
        info = await self._jetstream_request(f"STREAM.INFO.{stream}", query)
        prefix = calls.removesuffix("*")
        subjects: dict[str, int] = info["state"].get("subjects") or {}
        return [f"{self.function_name}.{subject.removeprefix(prefix)}" for subject in subjects]

    async def _stream_messages(self, stream: str, subject: str) -> Sequence[Msg]:
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.ALL,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=CONSUMER_INACTIVE_SECONDS,
        )
        subscription = await self._js.pull_subscribe(subject, stream=stream, config=config)
        messages: list[Msg] = []
        while (pending := (info := await subscription.consumer_info()).num_pending or 0) > 0:
            messages += await subscription.fetch(min(pending, 500), timeout=REQUEST_TIMEOUT_SECONDS)
        await subscription.unsubscribe()
        with suppress(nats.js.errors.NotFoundError):  # a killed server has lost the consumer
            await self._js.delete_consumer(stream, info.name)
        return messages

    async def _jetstream_request(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        encoded = json.dumps(body).encode()
        with preserve_cancellation():
            reply = await self.client.request(
                f"$JS.API.{path}", encoded, timeout=REQUEST_TIMEOUT_SECONDS
            )
        decoded: dict[str, Any] = json.loads(reply.data)
        assert "error" not in decoded, decoded
        return decoded


@asynccontextmanager
async def new_function_harness(
    server: NATSServer,
    clock: Clock | None = None,
    history: int = RECORD_HISTORY,
    ack_wait: float = ACK_WAIT_SECONDS,
) -> AsyncIterator[FunctionHarness]:
    """Create a function on a server that other tests may use too, for the length of the block."""
    client = await nats.connect(
        server.admin_url, max_reconnect_attempts=-1, reconnect_time_wait=0.1, error_cb=ignore_error
    )
    try:
        harness = FunctionHarness(client, f"fn-{random.randbytes(4).hex()}", clock, history)
        await harness.create_streams(ack_wait)
        yield harness
    finally:
        await client.close()


async def ignore_error(_: Exception) -> None:
    """Ignore errors of a connection that is broken on purpose."""


def is_running(count: int) -> Callable[[WorkerReport | None], bool]:
    """Return a predicate: a report says that `count` invocations run."""
    return lambda report: report is not None and report.running == count
