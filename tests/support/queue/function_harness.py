"""One function at a real queue, without Kubernetes: its streams, its callers, and what is left."""

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

from hack.cluster.nats_server import QueueServer
from serverless.nats.cancellation import heeding_cancellation
from serverless.worker.clock import Clock, SystemClock
from shared.invocation import message, transition, worker_report
from shared.invocation import record as codec
from shared.invocation.message import call_of
from shared.invocation.queue_names import QueueNames, consumer_of, record_key, worker_key
from shared.invocation.record import Body, Record, Request
from shared.invocation.streams import StreamLimits, Wire, body_bucket, consumer, streams
from shared.invocation.worker_report import WorkerReport
from tests.support.checks.invocation_checks import Execution, Seen, Version, is_over, violations
from tests.support.wait.eventually import eventually

HISTORY = 64
ACK_WAIT_SECONDS = 2.0
# Where attempts are counted: a slow machine is no reason for one.
UNHURRIED_SECONDS = 20.0
# nats-py itself waits for five seconds, which is little where many functions are made at once.
ANSWER_SECONDS = 30.0
# Longer than any machine pauses between two looks at one consumer.
INACTIVE_SECONDS = 60.0


class FunctionWorld:
    """What callers, and whoever looks on, do at the queue; keeps what was accepted."""

    def __init__(
        self,
        client: Client,
        request_id: str,
        clock: Clock | None = None,
        history: int = HISTORY,
    ) -> None:
        self.client = client
        self._js = client.jetstream(timeout=ANSWER_SECONDS)
        self.request_id = request_id
        self.function_uid = f"uid-of-{request_id}"
        self.names = QueueNames()
        self.clock = clock or SystemClock()
        self._history = history
        self.accepted: list[str] = []
        self.executions: list[Execution] = []

    async def install(self, ack_wait: float = ACK_WAIT_SECONDS) -> None:
        """Streams, with every version of a record kept, and the consumer of the function."""
        limits = StreamLimits()
        for wire in (
            *streams(self.names, limits),
            body_bucket(self.names, limits, self.request_id),
        ):
            await self._api(f"STREAM.CREATE.{wire['name']}", self._remembering(wire))
        config = consumer(self.names, self.request_id, 4) | {"ack_wait": int(ack_wait * 1e9)}
        stream = self.names.invocations_stream
        where = f"{stream}.{consumer_of(self.request_id)}.{config['filter_subject']}"
        await self._api(f"CONSUMER.CREATE.{where}", {"stream_name": stream, "config": config})

    async def remember(self) -> None:
        """Keep every version of a record from now on, in the streams that others have made."""
        for wire in map(self._remembering, streams(self.names, StreamLimits())):
            await self._api(f"STREAM.UPDATE.{wire['name']}", wire)

    def _remembering(self, wire: Wire) -> Wire:
        is_of_records = wire["name"] == f"KV_{self.names.record_bucket}"
        kept = {"max_msgs_per_subject": self._history, "discard": "old"}
        return wire | kept if is_of_records else wire

    async def submit(self, invocation_id: str, **request: Any) -> None:
        """Accept an invocation as the API does: the record, then the message."""
        await self.queue(invocation_id, await self.accept(invocation_id, **request))

    async def accept(self, invocation_id: str, **request: Any) -> Record:
        """Record an invocation, and leave it without a message."""
        record = transition.accepted(
            Request(**{"timeout_seconds": 60, **request}),
            self.function_uid,
            "hash",
            self.clock.now(),
        )
        await self.write(invocation_id, record, 0)
        self.accepted.append(record_key(self.request_id, invocation_id))
        return record

    async def queue(self, invocation_id: str, record: Record) -> None:
        """Publish the message of a record's present run."""
        call = call_of(self.request_id, invocation_id, record)
        await self.publish(invocation_id, message.encode(call))

    async def publish(self, invocation_id: str, data: bytes) -> None:
        """Put anything on the subject of an invocation."""
        subject = self.names.call_subject(self.request_id, invocation_id)
        await self._js.publish(subject, data)

    async def write(self, invocation_id: str, record: Record, revision: int) -> None:
        """Compare and set a record."""
        subject = self.names.record_subject(record_key(self.request_id, invocation_id))
        headers = {"Nats-Expected-Last-Subject-Sequence": str(revision)}
        await self._js.publish(subject, codec.encode(record), headers=headers)

    async def read(self, invocation_id: str) -> tuple[Record, int]:
        """A record and its revision."""
        key = record_key(self.request_id, invocation_id)
        stream = f"KV_{self.names.record_bucket}"
        subject = self.names.record_subject(key)
        found = await self._js.get_last_msg(stream, subject, direct=True)
        assert found.seq is not None
        return codec.decode(found.data or b""), found.seq

    async def cancel(self, invocation_id: str, *, is_nudged: bool = True) -> None:
        """As the API does for a running one: mark it, then nudge; too late if it is final."""
        record, revision = await self.read(invocation_id)
        if record.is_final:
            return
        try:
            await self.write(invocation_id, transition.cancelling(record), revision)
        except nats.js.errors.APIError:
            await self.cancel(invocation_id, is_nudged=is_nudged)
            return
        if is_nudged:
            subject = self.names.nudge_subject(self.request_id)
            await self.client.publish(subject, invocation_id.encode())

    async def redrive(self, invocation_id: str) -> None:
        """A new run of one that is final; its message waits until the old one is gone."""
        record, revision = await self.read(invocation_id)
        again = transition.redriven(record, self.clock.now())
        await self.write(invocation_id, again, revision)
        await eventually(
            lambda: self._queued_again(invocation_id, again), tolerate=nats.js.errors.APIError
        )

    async def _queued_again(self, invocation_id: str, record: Record) -> bool:
        await self.queue(invocation_id, record)
        return True

    async def report(self, worker: str) -> WorkerReport | None:
        """What a worker has told of itself last."""
        bucket = self.names.worker_bucket
        subject = f"$KV.{bucket}.{worker_key(self.request_id, worker)}"
        try:
            found = await self._js.get_last_msg(f"KV_{bucket}", subject, direct=True)
        except nats.js.errors.NotFoundError:
            return None
        return worker_report.decode(found.data or b"")

    async def nothing_is_queued(self) -> bool:
        """Whether every message has been dealt with."""
        return not await self._queued()

    async def deliveries(self) -> int:
        """How often messages were handed to workers, the same one again included."""
        info = await self._js.consumer_info(
            self.names.invocations_stream, consumer_of(self.request_id)
        )
        assert info.delivered is not None
        return int(info.delivered.consumer_seq)

    async def large_body(self, name: str, data: bytes) -> Body:
        """An object as any client of object stores makes it."""
        store = await self._js.object_store(self.names.bodies_of(self.request_id))
        await store.put(name, data)
        return Body(object_name=name, size=len(data))

    async def garbled_body(self, name: str, info: bytes) -> Body:
        """An object of which something else is told than object stores tell."""
        place = base64.urlsafe_b64encode(name.encode()).decode()
        bucket = self.names.bodies_of(self.request_id)
        await self.client.jetstream().publish(f"$O.{bucket}.M.{place}", info)
        return Body(object_name=name, size=1)

    async def body(self, body: Body) -> bytes:
        """The bytes of a result, wherever they are."""
        if not body.object_name:
            return body.inline
        store = await self._js.object_store(self.names.bodies_of(self.request_id))
        return (await store.get(body.object_name)).data or b""

    async def seen(self) -> Seen:
        """Everything of this function that there is now.

        A message goes last, so it is looked for first: what it has left is there then.
        """
        queued = await self._queued()
        versions: dict[str, list[Version]] = defaultdict(list)
        own = f"$KV.{self.names.record_bucket}."
        for msg in await self._all(f"KV_{self.names.record_bucket}", f"{own}{self.request_id}.>"):
            at = int(msg.metadata.timestamp.timestamp() * 1000)
            versions[msg.subject.removeprefix(own)].append(Version(codec.decode(msg.data), at))
        results = self.names.result_subject(self.request_id)
        letters = self.names.dead_letter_subject(self.request_id)
        return Seen(
            accepted=tuple(self.accepted),
            versions=versions,
            outcomes=[
                message.decode_outcome(each.data)
                for each in await self._all(self.names.results_stream, results)
            ],
            dead_letters=[
                message.decode_dead_letter(each.data)
                for each in await self._all(self.names.dead_letter_stream, letters)
            ],
            executions=tuple(self.executions),
            queued=queued,
        )

    async def over(self, *, seconds: float = 90.0) -> Seen:
        """Wait until everything has its outcome; then the promise must hold."""
        seen = await eventually(self.seen, is_over, seconds=seconds)
        if broken := violations(seen):
            raise AssertionError("\n".join(broken))
        return seen

    async def _queued(self) -> list[str]:
        stream, calls = self.names.invocations_stream, self.names.calls_of(self.request_id)
        asked = {"subjects_filter": calls}
        info = await self._api(f"STREAM.INFO.{stream}", asked)
        prefix = calls.removesuffix("*")
        subjects: dict[str, int] = info["state"].get("subjects") or {}
        return [f"{self.request_id}.{subject.removeprefix(prefix)}" for subject in subjects]

    async def _all(self, stream: str, subject: str) -> Sequence[Msg]:
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.ALL,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=INACTIVE_SECONDS,
        )
        subscription = await self._js.pull_subscribe(subject, stream=stream, config=config)
        found: list[Msg] = []
        while (pending := (info := await subscription.consumer_info()).num_pending or 0) > 0:
            found += await subscription.fetch(min(pending, 500), timeout=ANSWER_SECONDS)
        await subscription.unsubscribe()
        with suppress(nats.js.errors.NotFoundError):  # a server that was killed has forgotten it
            await self._js.delete_consumer(stream, info.name)
        return found

    async def _api(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        asked = json.dumps(body).encode()
        with heeding_cancellation():
            answer = await self.client.request(f"$JS.API.{path}", asked, timeout=ANSWER_SECONDS)
        decoded: dict[str, Any] = json.loads(answer.data)
        assert "error" not in decoded, decoded
        return decoded


@asynccontextmanager
async def new_world(
    server: QueueServer,
    clock: Clock | None = None,
    history: int = HISTORY,
    ack_wait: float = ACK_WAIT_SECONDS,
) -> AsyncIterator[FunctionWorld]:
    """A function of its own on a server that others may use too."""
    client = await nats.connect(
        server.admin_url, max_reconnect_attempts=-1, reconnect_time_wait=0.1, error_cb=ignored
    )
    try:
        world = FunctionWorld(client, f"fn-{random.randbytes(4).hex()}", clock, history)
        await world.install(ack_wait)
        yield world
    finally:
        await client.close()


async def ignored(_: Exception) -> None:
    """Connections are broken on purpose."""


def runs(count: int) -> Callable[[WorkerReport | None], bool]:
    """Whether a report says that so many run."""
    return lambda report: report is not None and report.running == count
