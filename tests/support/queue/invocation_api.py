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
from apiserver.nats.port import Queue
from hack.cluster.control_plane import ControlPlane
from hack.cluster.nats_server import QueueServer
from hack.cluster.process import Process
from hack.local import product_processes
from shared.invocation import transition
from shared.invocation.queue_names import record_key
from shared.invocation.record import Body, Record, Result
from shared.invocation.state import State
from tests.support.cluster.isolated_installation import Site, new_site
from tests.support.cluster.product_processes import running
from tests.support.cluster.running_product import api_settings, new_name
from tests.support.http.api_client import Answer, Caller
from tests.support.queue.nats_server import new_queue
from tests.support.wait.eventually import eventually


@dataclass(frozen=True)
class Ingress:
    """The site, the queue as its administrator sees it, and a caller for each replica.

    `process` is that of the second one.
    """

    site: Site
    server: QueueServer
    queue: Queue
    api: Caller
    replica: Caller
    process: Process

    async def function(self, **spec: Any) -> str:
        """The name of a new function."""
        name = new_name("fn")
        named = {"operationID": new_name("make"), "name": name}
        asked = {**named, "specName": "g1.1", "image": "example/echo:1", **spec}
        answer = await self.api.post(FUNCTIONS, asked)
        assert answer.status == 201, answer.body
        return name

    async def invoke(self, function: str, caller: Caller | None = None, **asked: Any) -> Answer:
        """The answer to an invocation."""
        body = {"serverlessRequestID": function, **asked}
        return await (caller or self.api).post(INVOCATIONS, body)

    async def record(self, function: str, invocation_id: str) -> Record:
        """The record as the queue holds it."""
        kept = await self.queue.records.find(record_key(function, invocation_id))
        assert kept is not None
        assert kept.record is not None
        return kept.record

    async def change(self, function: str, invocation_id: str, *steps: Any) -> Record:
        """Take a record through some steps, as a worker does, and do not look left or right."""
        key = record_key(function, invocation_id)
        kept = await eventually(lambda: self.queue.records.find(key))
        assert kept is not None
        assert kept.record is not None
        record, revision = kept.record, kept.revision
        for step in steps:
            record = step(record)
            revision = await self.queue.records.write(key, record, revision)
        return record

    async def succeed(self, function: str, invocation_id: str, body: bytes = b"done") -> Record:
        """What a worker's whole success does to the record."""
        return await self.change(function, invocation_id, begin, succeeded_with(body))


def begin(record: Record) -> Record:
    return transition.begun(record, "played-1", 1, record.accepted_at + 10)


def succeeded_with(body: bytes, object_name: str = "") -> Any:
    """The step by which a run succeeds."""

    def step(record: Record) -> Record:
        held = Body(inline=b"" if object_name else body, object_name=object_name, size=len(body))
        result = Result(status_code=200, content_type="text/plain", body=held)
        return transition.finished(record, State.SUCCEEDED, result, record.accepted_at + 30)

    return step


@asynccontextmanager
async def new_ingress(plane: ControlPlane, home: Path) -> AsyncIterator[Ingress]:
    """Two replicas and a queue on a new site, for the length of the block."""
    async with (
        new_site(plane) as site,
        new_queue(home / "queue") as server,
        connected(NATSConfig(url=server.admin_url)) as jetstream,
        AsyncExitStack() as processes,
    ):
        settings = {**api_settings(site), "nats": nats_settings(server)}
        starts = (
            running(product_processes.RUNTIME_API, home / each, settings) for each in ("one", "two")
        )
        one, two = await asyncio.gather(*map(processes.enter_async_context, starts))
        callers = Caller(one.url), Caller(two.url)
        made = Ingress(site, server, jetstream.queue, *callers, two.process)
        for caller in (made.api, made.replica):
            await queue_connected(caller)
        yield made


def nats_settings(server: QueueServer, url: str = "") -> dict[str, str]:
    """The API's own way to the queue."""
    password = str(server.password_file("runtime-api"))
    return {"url": url or server.url, "user": "runtime-api", "passwordFile": password}


async def queue_connected(caller: Caller) -> None:
    """Wait until a replica has its streams."""
    path = f"{INVOCATIONS}?limit=1"
    await eventually(lambda: caller.get(path), lambda answer: answer.status == 200)


@asynccontextmanager
async def connected(config: NATSConfig) -> AsyncIterator[JetStream]:
    """The queue as a process of ours uses it, with what runs behind it."""
    jetstream = JetStream(config, SystemClock(), lambda: uuid4().hex)
    async with asyncio.TaskGroup() as group:
        work = (jetstream.connection.run(), jetstream.layout.run(), jetstream.wakes.run())
        tasks = [group.create_task(each) for each in work]
        await jetstream.connection.after(0)
        await jetstream.layout.ensure()
        try:
            yield jetstream
        finally:
            for task in tasks:
                task.cancel()
