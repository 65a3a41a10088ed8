"""HTTP API on models of Kubernetes and of the queue, which record all writes."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final, cast

import msgspec
from nats.aio.msg import Msg
from prometheus_client import CollectorRegistry

from apiserver.circuit_breaker import CircuitBreaker
from apiserver.config import Config
from apiserver.kube.port import JsonObject
from apiserver.kube.resources import (
    FUNCTIONS,
    GPU_STORAGES,
    GPU_UNITS,
    OPERATIONS,
    STOCK_POOLS,
    Resource,
)
from apiserver.main import service_settings
from apiserver.nats.connection import QueueConnection
from apiserver.nats.jetstream import create_ports
from apiserver.nats.object_store import JetStreamBodyStore
from apiserver.nats.port import RecordChanges
from apiserver.nats.requests import JetStreamRequests
from apiserver.wiring import KubeServices, ServerlessServices
from shared.invocation.queue_names import QueueNames
from shared.invocation.streams import StreamLimits
from tests.model.gateway import ModelGateway
from tests.model.scheduler import DeterministicScheduler, run_ready_tasks
from tests.model.server import Document, ModelServer
from tests.unit.apiserver.in_process_api import InProcessApi, run_app
from tests.unit.golden.recorded_queue import RecordedQueue

RESOURCES: Final[dict[str, Resource[Any]]] = {
    resource.plural: resource
    for resource in (FUNCTIONS, GPU_STORAGES, GPU_UNITS, OPERATIONS, STOCK_POOLS)
}
# The configuration of every recorded API.
CONFIGURATION: Final = {
    "specs": {
        "g1.1": {
            "memory": "64Gi",
            "cpu": "8",
            "gpu": 1,
            "gpuResource": "example.com/gpu",
            "nodeSelector": {"zone": "a"},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "shmSize": "8Gi",
        }
    }
}


class RecordedServer(ModelServer):
    """API server that records every write, including failed writes."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__()
        self.writes: list[dict[str, Any]] = []
        for stored in given.get("found", ()):
            self.do({"verb": "create", **stored})
            status = {"status": stored["body"].get("status", {})}
            self.do({"verb": "patch", "at": f"{stored['at']} status", "body": status})
        for write in given.get("writes", ()):
            self.do(write)
        self.writes.clear()

    def do(self, write: Mapping[str, Any]) -> None:
        """Apply a recorded write."""
        plural, path, *subresource = write["at"].split(" ")
        resource, (namespace, name) = RESOURCES[plural], path.split("/")
        match write["verb"]:
            case "create":
                self.create(resource, namespace, write["body"])
            case "patch":
                self.patch(resource, namespace, name, write["body"], " ".join(subresource))
            case _:
                self.delete(resource, namespace, name, write["body"]["uid"], "")

    def create(self, resource: Resource[Any], namespace: str, body: JsonObject) -> Document:
        self._note("create", f"{resource.plural} {namespace}/{body['metadata']['name']}", body)
        return super().create(resource, namespace, body)

    def patch(
        self, resource: Resource[Any], namespace: str, name: str, body: JsonObject, subresource: str
    ) -> Document:
        path = f"{resource.plural} {namespace}/{name} {subresource}".strip()
        self._note("patch", path, body)
        return super().patch(resource, namespace, name, body, subresource)

    def delete(
        self, resource: Resource[Any], namespace: str, name: str, uid: str, version: str
    ) -> None:
        self._note("delete", f"{resource.plural} {namespace}/{name}", {"uid": uid})
        super().delete(resource, namespace, name, uid, version)

    def _note(self, verb: str, path: str, body: JsonObject) -> None:
        written = msgspec.json.decode(msgspec.json.encode(body))
        self.writes.append({"verb": verb, "at": path, "body": written})


class StillClock(DeterministicScheduler):
    """Clock whose time does not change; a sleep ends at once."""

    async def wait_turn(self) -> None:
        """Return at once."""

    async def sleep(self, seconds: float) -> None:
        """Let other tasks run, without a delay."""
        await asyncio.sleep(0)


class RecordedCaller(JetStreamRequests):
    """JetStream client that sends its requests to the recorded queue."""

    def __init__(self, queue: RecordedQueue, clock: StillClock) -> None:
        super().__init__(cast(QueueConnection, None), CircuitBreaker(clock))
        self._queue = queue

    async def request(
        self, subject: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Msg:
        return await self._queue.request(subject, payload, headers=headers)

    async def publish(self, subject: str, payload: bytes, reply: str = "") -> None:
        await self._queue.publish(subject, payload, reply)


class RecordedWorld:
    """One replica of the API with a given state.

    `found` is the state of Kubernetes, `writes` are later writes, and `kept` is the state of
    the queue.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.server = RecordedServer(given)
        self.queue = RecordedQueue(given.get("kept", {}))
        clock, numbers = StillClock(Random(0)), itertools.count(len(given.get("writes", ())))
        client, registry = ModelGateway(self.server, clock), CollectorRegistry()
        where = service_settings(msgspec.convert(CONFIGURATION, Config))

        def make_id() -> str:
            return f"id-{next(numbers)}"

        caller, names = RecordedCaller(self.queue, clock), QueueNames()
        bodies = JetStreamBodyStore(caller, names, StreamLimits(), make_id, clock.now)
        queue = create_ports(caller, names, bodies, cast(RecordChanges, None))
        self.use_cases = KubeServices(client, where, registry, clock, Random(0), make_id)
        creator = self.use_cases.function_creator
        self.serverless = ServerlessServices(
            client, queue, where, creator, registry, clock, make_id
        )

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[InProcessApi]:
        """Serve requests during the block."""
        known, serverless = self.use_cases, self.serverless
        async with (
            asyncio.TaskGroup() as group,
            run_app(
                stock=known.stock,
                pools=known.pools,
                units=known.units,
                storages=known.storages,
                functions=serverless.functions,
                acceptor=serverless.invocation_acceptor,
                invocations=serverless.invocations,
                invocation_lists=serverless.invocation_lists,
            ) as api,
        ):
            tasks = group.create_task(known.operation_tasks.run())
            await run_ready_tasks()
            yield api
            await run_ready_tasks()
            tasks.cancel()

    async def ask(self, given: Mapping[str, Any]) -> int:
        """Send one HTTP request; return the status of the response."""
        body = json.dumps(given["body"]) if "body" in given else given.get("text", "")
        method, _, path = given["request"].partition(" ")
        async with self.serving() as api:
            response = await api.request(
                method, path, (body * given.get("times", 1)).encode(), **given.get("headers", {})
            )
        return response.status

    async def resume(self) -> None:
        """Resume the unfinished operations, as a replica does after it found them twice."""
        async with self.serving():
            known = await self.use_cases.resumer.resume_unfinished(set())
            await self.use_cases.resumer.resume_unfinished(known)


async def asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Send an HTTP request; return its status, its writes and its messages."""
    world = RecordedWorld(given)
    result = {"status": await world.ask(given), **written(world)}
    return {name: value for name, value in result.items() if value}


def written(world: RecordedWorld) -> dict[str, Any]:
    """Return the writes to Kubernetes and the messages to the queue."""
    return {"writes": world.server.writes, "sent": world.queue.sent}
