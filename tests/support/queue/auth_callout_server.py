"""The door through which workers come to the queue with the rights of their function only."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats.errors
from nats.aio.client import Client

from controller.runtime.clock import SystemClock
from controller.runtime.process.lifecycle import Runnable
from hack.cluster.nats_server import NATSServer
from serverless.activator.auth.auth_callout import AuthCallout, CalloutPolicy
from serverless.activator.auth.jwt import TokenSigner
from serverless.activator.auth.worker_credentials import WorkerUser
from serverless.activator.config import NATSConfig
from serverless.nats.config import QueueConfig
from serverless.nats.connection import QueueConnection
from serverless.nats.credentials import NATSCredentials, credentials_from_config
from shared.invocation.queue_names import QueueNames
from tests.support.queue.function_harness import ignore_error
from tests.support.wait.eventually import eventually


@asynccontextmanager
async def serve_auth_callout(
    server: NATSServer, user: WorkerUser
) -> AsyncIterator[NATSCredentials]:
    """What a worker of that function says at the queue; it is let in while the block lasts."""
    key = server.worker_key_file.read_text().strip().encode()
    password_file = str(server.password_file("callout"))
    config = QueueConfig(url=server.url, user="callout", password_file=password_file)
    connection = QueueConnection(credentials_from_config(config), "tests", SystemClock())
    gate = CalloutPolicy(key, NATSConfig().worker_account, QueueNames(), user.__eq__)
    signer = TokenSigner(server.issuer_seed_file.read_text().strip())
    parts: list[Runnable] = [connection, AuthCallout(connection, gate, signer, SystemClock())]
    access = NATSCredentials(server.url, user.name, user.password(key), user.inbox_prefix)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part.run()) for part in parts]
        await eventually(lambda: can_connect(access), tolerate=(nats.errors.Error, TimeoutError))
        yield access
        for task in tasks:
            task.cancel()


async def can_connect(access: NATSCredentials) -> bool:
    """Whether the callout is answered already."""
    client = Client()
    try:
        await client.connect(
            access.url,
            user=access.user,
            password=access.password,
            inbox_prefix=access.inbox_prefix.encode(),
            allow_reconnect=False,
            error_cb=ignore_error,
        )
    finally:
        await client.close()
    return True
