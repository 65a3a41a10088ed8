"""Functions of an installation, and the steps of callers and workers at its queue."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import nats
from msgspec.structs import replace
from nats.aio.client import Client

from controller.runtime.clock import SystemClock
from hack.cluster.nats_server import NATSServer
from shared.invocation import message, record, transition, worker_report
from shared.invocation.queue_names import QueueNames, record_key, worker_report_key
from shared.invocation.record import InvocationRecord, InvocationRequest
from shared.invocation.worker_report import WorkerReport
from shared.time import now_ms
from shared.v1alpha1.group import GROUP, VERSION
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.wait.eventually import eventually

QUEUE_NAMES = QueueNames()
REQUEST_TIMEOUT_SECONDS = 60.0
FETCH_SECONDS = 5.0


def function_manifest(name: str, spec_name: str, **spec: Any) -> dict[str, Any]:
    """Return the manifest of a function that scales down after a second."""
    function_spec = {
        "specName": spec_name,
        "image": "example/fn:1",
        "idleTimeoutSeconds": 1,
        **spec,
    }
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Function",
        "metadata": {"name": name},
        "spec": function_spec,
    }


class FunctionsClient:
    """The functions of one installation, and its queue with all rights."""

    def __init__(self, installation: IsolatedInstallation, client: Client) -> None:
        self.installation = installation
        self.client = client
        self.jetstream = client.jetstream(timeout=REQUEST_TIMEOUT_SECONDS)

    async def create(self, spec_name: str, **spec: Any) -> str:
        """Create a function, and return its name."""
        name = f"fn-{secrets.token_hex(3)}"
        await self.installation.create("functions", function_manifest(name, spec_name, **spec))
        return name

    async def get(self, name: str) -> dict[str, Any]:
        function: dict[str, Any] = await self.installation.admin.get(
            self.installation.path("functions", name)
        )
        return function

    async def patch_spec(self, name: str, **spec: Any) -> None:
        """Change the spec, as `kubectl edit` does."""
        await self.installation.admin.patch(
            self.installation.path("functions", name), {"spec": spec}
        )

    async def uid(self, name: str) -> str:
        return str((await self.get(name))["metadata"]["uid"])

    async def wait_status(
        self, name: str, predicate: Callable[[dict[str, Any]], object], timeout_seconds: float = 150
    ) -> dict[str, Any]:
        """Return the status of a function once `predicate` holds for it."""

        async def status() -> dict[str, Any]:
            return dict((await self.get(name)).get("status", {}))

        return await eventually(status, predicate, timeout_seconds=timeout_seconds)

    async def worker_units(self, name: str) -> list[dict[str, Any]]:
        """Return the worker units of a function."""
        units = await self.installation.list("gpuunits")
        return [
            unit
            for unit in units
            if (unit["spec"].get("serverless") or {}).get("requestID") == name
        ]

    async def submit(
        self, name: str, invocation_id: str, *, publish: bool = True, **changes: Any
    ) -> InvocationRecord:
        """Accept an invocation as the API does; `changes` are to its first record."""
        request = InvocationRequest(ttl_seconds=changes.pop("ttl_seconds", 3600))
        uid = changes.pop("function_uid", "") or await self.uid(name)
        invocation_record = transition.new_record(
            request, uid, "hash", changes.pop("accepted_at", current_time_ms())
        )
        invocation_record = replace(invocation_record, **changes)
        await self.write_record(name, invocation_id, invocation_record)
        if publish:
            await self.publish_call(name, invocation_id, invocation_record)
        return invocation_record

    async def write_record(
        self, name: str, invocation_id: str, invocation_record: InvocationRecord
    ) -> None:
        """Write a record without a precondition."""
        subject = QUEUE_NAMES.record_subject(record_key(name, invocation_id))
        await self.jetstream.publish(subject, record.encode_record(invocation_record))

    async def publish_call(
        self, name: str, invocation_id: str, invocation_record: InvocationRecord
    ) -> int:
        """Publish the call of a record, and return its sequence."""
        call = message.encode_message(message.call_message(name, invocation_id, invocation_record))
        subject = QUEUE_NAMES.call_subject(name, invocation_id)
        return (await self.jetstream.publish(subject, call)).seq

    async def read_record(self, name: str, invocation_id: str) -> InvocationRecord:
        """Return the present record."""
        stream = f"KV_{QUEUE_NAMES.record_bucket}"
        subject = QUEUE_NAMES.record_subject(record_key(name, invocation_id))
        stored = await self.jetstream.get_last_msg(stream, subject)
        return record.decode_record(stored.data or b"")

    async def wait_record(
        self, name: str, invocation_id: str, predicate: Callable[[InvocationRecord], object]
    ) -> InvocationRecord:
        """Return the record once `predicate` holds for it."""
        return await eventually(
            lambda: self.read_record(name, invocation_id), predicate, timeout_seconds=150
        )

    async def queued_counts(self, name: str) -> dict[str, int]:
        """Return the number of messages by invocation."""
        info = await self.jetstream.stream_info(
            QUEUE_NAMES.invocations_stream, subjects_filter=QUEUE_NAMES.call_filter(name)
        )
        subjects = info.state.subjects or {}
        return {subject.rpartition(".")[2]: count for subject, count in subjects.items()}

    async def published_outcomes(self, name: str) -> list[message.OutcomeMessage]:
        """Return the outcomes of a function in the stream of results."""
        jetstream, outcomes = self.jetstream, []
        info = await jetstream.stream_info(QUEUE_NAMES.results_stream)
        for sequence in range(max(1, info.state.first_seq), info.state.last_seq + 1):
            stored = await jetstream.get_msg(QUEUE_NAMES.results_stream, sequence)
            if stored.subject == QUEUE_NAMES.result_subject(name):
                outcomes.append(message.decode_outcome(stored.data or b""))
        return outcomes

    async def create_stream(self, config: dict[str, Any]) -> None:
        """Create a stream with this configuration."""
        body = msgspec.json.encode(config)
        await self.client.request(
            f"$JS.API.STREAM.CREATE.{config['name']}", body, timeout=REQUEST_TIMEOUT_SECONDS
        )

    async def publish_worker_report(
        self, name: str, worker: str, running: int, last_active: int
    ) -> None:
        """Publish the report of a worker."""
        report = WorkerReport(running=running, last_active=last_active, version="1")
        subject = f"$KV.{QUEUE_NAMES.worker_bucket}.{worker_report_key(name, worker)}"
        await self.jetstream.publish(subject, worker_report.encode_report(report))

    async def ack_all(self, name: str) -> int:
        """Acknowledge all messages, as if they had been run; return their number."""
        pulled = await self.jetstream.pull_subscribe_bind(
            name, stream=QUEUE_NAMES.invocations_stream
        )
        count = 0
        while await self.queued_counts(name):
            with suppress(TimeoutError):  # a later fetch returns a message that is missing now
                (call,) = await pulled.fetch(1, timeout=FETCH_SECONDS)
                await call.ack_sync(timeout=REQUEST_TIMEOUT_SECONDS)
                count += 1
        return count


def current_time_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return now_ms(SystemClock())


@asynccontextmanager
async def open_functions(
    installation: IsolatedInstallation, nats_server: NATSServer
) -> AsyncIterator[FunctionsClient]:
    """Open the functions of an installation whose queue is `nats_server`."""
    client = await nats.connect(nats_server.admin_url)
    try:
        yield FunctionsClient(installation, client)
    finally:
        await client.close()
