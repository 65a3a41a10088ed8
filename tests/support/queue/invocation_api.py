"""Two replicas of the API with a real queue, and a hand that does what workers would."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from apiserver.clock import SystemClock
from apiserver.config import NATSConfig
from apiserver.http.paths import FUNCTIONS, INVOCATIONS
from apiserver.nats.jetstream import JetStream
from apiserver.nats.port import QueuePorts
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nats_server import NATSServer
from hack.cluster.process import Process
from hack.local import product_processes
from shared.invocation import transition
from shared.invocation.queue_names import record_key
from shared.invocation.record import InvocationBody, InvocationRecord, InvocationResult
from shared.invocation.state import InvocationState
from tests.support.cluster.isolated_installation import (
    IsolatedInstallation,
    new_isolated_installation,
)
from tests.support.cluster.product_processes import run_product_process
from tests.support.cluster.running_product import api_settings, new_name
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.eventually import eventually


@dataclass(frozen=True)
class InvocationApi:
    """The site, the queue as its administrator sees it, and a caller for each replica.

    `process` is that of the second one.
    """

    installation: IsolatedInstallation
    nats_server: NATSServer
    queue: QueuePorts
    api: ApiClient
    replica: ApiClient
    replica_process: Process

    async def create_function(self, **spec: Any) -> str:
        """The name of a new function."""
        name = new_name("fn")
        named = {"operationID": new_name("make"), "name": name}
        asked = {**named, "specName": "g1.1", "image": "example/echo:1", **spec}
        answer = await self.api.post(FUNCTIONS, asked)
        assert answer.status == 201, answer.body
        return name

    async def invoke(
        self, function_name: str, client: ApiClient | None = None, **asked: Any
    ) -> ApiResponse:
        """The answer to an invocation."""
        body = {"serverlessRequestID": function_name, **asked}
        return await (client or self.api).post(INVOCATIONS, body)

    async def record(self, function_name: str, invocation_id: str) -> InvocationRecord:
        """The record as the queue holds it."""
        kept = await self.queue.records.find(record_key(function_name, invocation_id))
        assert kept is not None
        assert kept.record is not None
        return kept.record

    async def apply_transitions(
        self, function_name: str, invocation_id: str, *transitions: Any
    ) -> InvocationRecord:
        """Take a record through some steps, as a worker does, and do not look left or right."""
        key = record_key(function_name, invocation_id)
        kept = await eventually(lambda: self.queue.records.find(key))
        assert kept is not None
        assert kept.record is not None
        record, revision = kept.record, kept.revision
        for step in transitions:
            record = step(record)
            revision = await self.queue.records.put(key, record, revision)
        return record

    async def succeed(
        self, function_name: str, invocation_id: str, body: bytes = b"done"
    ) -> InvocationRecord:
        """What a worker's whole success does to the record."""
        return await self.apply_transitions(
            function_name, invocation_id, begin_run, succeed_with(body)
        )


def begin_run(record: InvocationRecord) -> InvocationRecord:
    return transition.attempt_started(record, "played-1", 1, record.accepted_at + 10)


def succeed_with(body: bytes, object_name: str = "") -> Any:
    """The step by which a run succeeds."""

    def step(record: InvocationRecord) -> InvocationRecord:
        held = InvocationBody(
            inline=b"" if object_name else body, object_name=object_name, size=len(body)
        )
        result = InvocationResult(status_code=200, content_type="text/plain", body=held)
        return transition.finished(
            record, InvocationState.SUCCEEDED, result, record.accepted_at + 30
        )

    return step


@asynccontextmanager
async def new_invocation_api(plane: ControlPlane, state_dir: Path) -> AsyncIterator[InvocationApi]:
    """Two replicas and a queue on a new site, for the length of the block."""
    async with (
        new_isolated_installation(plane) as site,
        new_nats_server(state_dir / "queue") as server,
        connect_jetstream(NATSConfig(url=server.admin_url)) as jetstream,
        AsyncExitStack() as processes,
    ):
        settings = {**api_settings(site), "nats": nats_settings(server)}
        starts = (
            run_product_process(product_processes.RUNTIME_API, state_dir / each, settings)
            for each in ("one", "two")
        )
        one, two = await asyncio.gather(*map(processes.enter_async_context, starts))
        callers = ApiClient(one.url), ApiClient(two.url)
        made = InvocationApi(site, server, jetstream.ports, *callers, two.process)
        for caller in (made.api, made.replica):
            await wait_queue_connected(caller)
        yield made


def nats_settings(server: NATSServer, url: str = "") -> dict[str, str]:
    """The API's own way to the queue."""
    password = str(server.password_file("runtime-api"))
    return {"url": url or server.url, "user": "runtime-api", "passwordFile": password}


async def wait_queue_connected(client: ApiClient) -> None:
    """Wait until a replica has its streams."""
    path = f"{INVOCATIONS}?limit=1"
    await eventually(lambda: client.get(path), lambda answer: answer.status == 200)


@asynccontextmanager
async def connect_jetstream(config: NATSConfig) -> AsyncIterator[JetStream]:
    """The queue as a process of ours uses it, with what runs behind it."""
    jetstream = JetStream(config, SystemClock(), lambda: uuid4().hex)
    async with asyncio.TaskGroup() as group:
        work = (
            jetstream.connection.run(),
            jetstream.stream_setup.run(),
            jetstream.record_changes.run(),
        )
        tasks = [group.create_task(each) for each in work]
        await jetstream.connection.wait_for_connect(0)
        await jetstream.stream_setup.ensure_streams()
        try:
            yield jetstream
        finally:
            for task in tasks:
                task.cancel()
