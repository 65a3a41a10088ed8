"""The door through which workers come to the queue with the rights of their function only."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats.errors
from nats.aio.client import Client

from controller.runtime.clock import SystemClock
from controller.runtime.process.manager import Background
from hack.cluster.nats_server import QueueServer
from serverless.activator.auth.auth_callout import Callout, Gate
from serverless.activator.auth.jwt import Signer
from serverless.activator.auth.worker_credentials import WorkerUser
from serverless.activator.config import NATSConfig
from serverless.nats.config import QueueConfig
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import Access
from shared.invocation.queue_names import QueueNames
from tests.support.queue.function_harness import ignored
from tests.support.wait.eventually import eventually


@asynccontextmanager
async def admitted(server: QueueServer, user: WorkerUser) -> AsyncIterator[Access]:
    """What a worker of that function says at the queue; it is let in while the block lasts."""
    key = server.worker_key_file.read_text().strip().encode()
    password_file = str(server.password_file("callout"))
    config = QueueConfig(url=server.url, user="callout", password_file=password_file)
    connection = QueueConnection(config, "tests", SystemClock())
    gate = Gate(key, NATSConfig().worker_account, QueueNames(), user.__eq__)
    signer = Signer(server.issuer_seed_file.read_text().strip())
    parts: list[Background] = [connection, Callout(connection, gate, signer, SystemClock())]
    access = Access(server.url, user.name, user.password(key), user.inbox_prefix)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in parts]
        await eventually(lambda: is_open(access), tolerate=(nats.errors.Error, TimeoutError))
        yield access
        for task in tasks:
            task.cancel()


async def is_open(access: Access) -> bool:
    """Whether the callout is answered already."""
    client = Client()
    try:
        await client.connect(
            access.url,
            user=access.user,
            password=access.password,
            inbox_prefix=access.inbox_prefix.encode(),
            allow_reconnect=False,
            error_cb=ignored,
        )
    finally:
        await client.close()
    return True
