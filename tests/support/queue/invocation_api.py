"""Two replicas of the API with a real queue, and the steps of workers on records."""

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
    """An installation, its queue with all rights, and a client for each replica.

    `replica_process` is the process of the second one.
    """

    installation: IsolatedInstallation
    nats_server: NATSServer
    queue: QueuePorts
    api: ApiClient
    replica: ApiClient
    replica_process: Process

    async def create_function(self, **spec: Any) -> str:
        """Create a function, and return its name."""
        name = new_name("fn")
        names = {"operationID": new_name("create"), "name": name}
        body = {**names, "specName": "g1.1", "image": "example/echo:1", **spec}
        response = await self.api.post(FUNCTIONS, body)
        assert response.status == 201, response.body
        return name

    async def invoke(
        self, function_name: str, client: ApiClient | None = None, **fields: Any
    ) -> ApiResponse:
        """Send an invocation, and return the response."""
        body = {"serverlessRequestID": function_name, **fields}
        return await (client or self.api).post(INVOCATIONS, body)

    async def record(self, function_name: str, invocation_id: str) -> InvocationRecord:
        """Return the stored record."""
        stored = await self.queue.records.find(record_key(function_name, invocation_id))
        assert stored is not None
        assert stored.record is not None
        return stored.record

    async def apply_transitions(
        self, function_name: str, invocation_id: str, *transitions: Any
    ) -> InvocationRecord:
        """Change a record step by step, as a worker does, without any of its checks."""
        key = record_key(function_name, invocation_id)
        stored = await eventually(lambda: self.queue.records.find(key))
        assert stored is not None
        assert stored.record is not None
        record, revision = stored.record, stored.revision
        for change in transitions:
            record = change(record)
            revision = await self.queue.records.put(key, record, revision)
        return record

    async def succeed(
        self, function_name: str, invocation_id: str, body: bytes = b"done"
    ) -> InvocationRecord:
        """Change a record as a successful run does."""
        return await self.apply_transitions(
            function_name, invocation_id, begin_run, succeed_with(body)
        )


def begin_run(record: InvocationRecord) -> InvocationRecord:
    return transition.attempt_started(record, "worker-1", 1, record.accepted_at + 10)


def succeed_with(body: bytes, object_name: str = "") -> Any:
    """Return the change of a record by which a run succeeds."""

    def change(record: InvocationRecord) -> InvocationRecord:
        result_body = InvocationBody(
            inline=b"" if object_name else body, object_name=object_name, size=len(body)
        )
        result = InvocationResult(status_code=200, content_type="text/plain", body=result_body)
        return transition.finished(
            record, InvocationState.SUCCEEDED, result, record.accepted_at + 30
        )

    return change


@asynccontextmanager
async def new_invocation_api(plane: ControlPlane, state_dir: Path) -> AsyncIterator[InvocationApi]:
    """Run two replicas and a queue in a new installation, for the length of the block."""
    async with (
        new_isolated_installation(plane) as installation,
        new_nats_server(state_dir / "queue") as server,
        connect_jetstream(NATSConfig(url=server.admin_url)) as jetstream,
        AsyncExitStack() as processes,
    ):
        settings = {**api_settings(installation), "nats": nats_settings(server)}
        starts = (
            run_product_process(product_processes.RUNTIME_API, state_dir / replica, settings)
            for replica in ("one", "two")
        )
        one, two = await asyncio.gather(*map(processes.enter_async_context, starts))
        clients = ApiClient(one.url), ApiClient(two.url)
        api = InvocationApi(installation, server, jetstream.ports, *clients, two.process)
        for client in (api.api, api.replica):
            await wait_queue_connected(client)
        yield api


def nats_settings(server: NATSServer, url: str = "") -> dict[str, str]:
    """Return the API's settings of the queue."""
    password = str(server.password_file("runtime-api"))
    return {"url": url or server.url, "user": "runtime-api", "passwordFile": password}


async def wait_queue_connected(client: ApiClient) -> None:
    """Wait until a replica has its streams."""
    path = f"{INVOCATIONS}?limit=1"
    await eventually(lambda: client.get(path), lambda response: response.status == 200)


@asynccontextmanager
async def connect_jetstream(config: NATSConfig) -> AsyncIterator[JetStream]:
    """Connect to the queue as the API does, with its background tasks, during the block."""
    jetstream = JetStream(config, SystemClock(), lambda: uuid4().hex)
    async with asyncio.TaskGroup() as group:
        background = (
            jetstream.connection.run(),
            jetstream.stream_setup.run(),
            jetstream.record_changes.run(),
        )
        tasks = [group.create_task(coroutine) for coroutine in background]
        await jetstream.connection.wait_for_connect(0)
        await jetstream.stream_setup.ensure_streams()
        try:
            yield jetstream
        finally:
            for task in tasks:
                task.cancel()
