"""Functions of a site, and the part of callers and workers at its queue, played by hand."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import nats
from msgspec.structs import replace
from nats.aio.client import Client

from controller.runtime.clock import SystemClock
from hack.cluster.nats_server import QueueServer
from serverless.activator import timestamps
from shared.invocation import message, record, transition, worker_report
from shared.invocation.queue_names import QueueNames, record_key, worker_key
from shared.invocation.record import Record, Request
from shared.invocation.worker_report import WorkerReport
from shared.v1alpha1.group import GROUP, VERSION
from tests.support.cluster.isolated_installation import Site
from tests.support.wait.eventually import eventually

NAMES = QueueNames()
PATIENCE_SECONDS = 60.0
FETCH_SECONDS = 5.0


def a_function(name: str, spec_name: str, **spec: Any) -> dict[str, Any]:
    """A function that scales down soon."""
    asked = {"specName": spec_name, "image": "example/fn:1", "idleTimeoutSeconds": 1, **spec}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Function",
        "metadata": {"name": name},
        "spec": asked,
    }


class Functions:
    """One site's functions, and its queue with the rights of an administrator."""

    def __init__(self, site: Site, client: Client) -> None:
        self.site = site
        self.client = client
        self.jetstream = client.jetstream(timeout=PATIENCE_SECONDS)

    async def create(self, spec_name: str, **spec: Any) -> str:
        """Make a function; its name."""
        name = f"fn-{secrets.token_hex(3)}"
        await self.site.create("functions", a_function(name, spec_name, **spec))
        return name

    async def get(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.site.admin.get(self.site.path("functions", name))
        return found

    async def change(self, name: str, **spec: Any) -> None:
        """What `kubectl edit` would do to the spec."""
        await self.site.admin.patch(self.site.path("functions", name), {"spec": spec})

    async def uid(self, name: str) -> str:
        return str((await self.get(name))["metadata"]["uid"])

    async def says(
        self, name: str, is_right: Callable[[dict[str, Any]], object], seconds: float = 150
    ) -> dict[str, Any]:
        """The status of a function once it is right."""

        async def look() -> dict[str, Any]:
            return dict((await self.get(name)).get("status", {}))

        return await eventually(look, is_right, seconds=seconds)

    async def workers(self, name: str) -> list[dict[str, Any]]:
        """The units that work for a function."""
        units = await self.site.list("gpuunits")
        return [
            unit
            for unit in units
            if (unit["spec"].get("serverless") or {}).get("requestID") == name
        ]

    async def submit(
        self, name: str, invocation_id: str, *, queued: bool = True, **changes: Any
    ) -> Record:
        """Accept an invocation as the API does; `changes` are to its first record."""
        request = Request(ttl_seconds=changes.pop("ttl_seconds", 3600))
        uid = changes.pop("function_uid", "") or await self.uid(name)
        made = transition.accepted(request, uid, "hash", changes.pop("accepted_at", now_ms()))
        made = replace(made, **changes)
        await self.write(name, invocation_id, made)
        if queued:
            await self.queue(name, invocation_id, made)
        return made

    async def write(self, name: str, invocation_id: str, new: Record) -> None:
        """Put a record into the bucket, whatever is there."""
        subject = NAMES.record_subject(record_key(name, invocation_id))
        await self.jetstream.publish(subject, record.encode(new))

    async def queue(self, name: str, invocation_id: str, of: Record) -> int:
        """Publish the call of a record; its sequence."""
        call = message.encode(message.call_of(name, invocation_id, of))
        subject = NAMES.call_subject(name, invocation_id)
        return (await self.jetstream.publish(subject, call)).seq

    async def read(self, name: str, invocation_id: str) -> Record:
        """The record as it is now."""
        stream = f"KV_{NAMES.record_bucket}"
        subject = NAMES.record_subject(record_key(name, invocation_id))
        found = await self.jetstream.get_last_msg(stream, subject)
        return record.decode(found.data or b"")

    async def becomes(
        self, name: str, invocation_id: str, is_right: Callable[[Record], object]
    ) -> Record:
        """The record once it is right."""
        return await eventually(lambda: self.read(name, invocation_id), is_right, seconds=150)

    async def queued(self, name: str) -> dict[str, int]:
        """The invocations that have a message."""
        info = await self.jetstream.stream_info(
            NAMES.invocations_stream, subjects_filter=NAMES.calls_of(name)
        )
        subjects = info.state.subjects or {}
        return {subject.rpartition(".")[2]: count for subject, count in subjects.items()}

    async def told(self, name: str) -> list[message.Outcome]:
        """The outcomes in the stream of results."""
        jetstream, found = self.jetstream, []
        info = await jetstream.stream_info(NAMES.results_stream)
        for sequence in range(max(1, info.state.first_seq), info.state.last_seq + 1):
            each = await jetstream.get_msg(NAMES.results_stream, sequence)
            if each.subject == NAMES.result_subject(name):
                found.append(message.decode_outcome(each.data or b""))
        return found

    async def make(self, wire: dict[str, Any]) -> None:
        """Make a stream as it is written."""
        body = msgspec.json.encode(wire)
        await self.client.request(
            f"$JS.API.STREAM.CREATE.{wire['name']}", body, timeout=PATIENCE_SECONDS
        )

    async def report(self, name: str, worker: str, running: int, last_active: int) -> None:
        """What a worker tells of itself."""
        told = WorkerReport(running=running, last_active=last_active, version="1")
        subject = f"$KV.{NAMES.worker_bucket}.{worker_key(name, worker)}"
        await self.jetstream.publish(subject, worker_report.encode(told))

    async def work_off(self, name: str) -> int:
        """Take and acknowledge all that is queued, as if it had been run; how many there were."""
        pulled = await self.jetstream.pull_subscribe_bind(name, stream=NAMES.invocations_stream)
        done = 0
        while await self.queued(name):
            with suppress(TimeoutError):  # what is not there yet comes with the next
                (each,) = await pulled.fetch(1, timeout=FETCH_SECONDS)
                await each.ack_sync(timeout=PATIENCE_SECONDS)
                done += 1
        return done


def now_ms() -> int:
    """Now, in milliseconds since 1970."""
    return timestamps.now_ms(SystemClock())


@asynccontextmanager
async def functions_of(site: Site, queue: QueueServer) -> AsyncIterator[Functions]:
    """The functions of a site whose queue is `queue`."""
    client = await nats.connect(queue.admin_url)
    try:
        yield Functions(site, client)
    finally:
        await client.close()
