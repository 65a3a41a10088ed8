"""The auth callout of NATS, which gives workers the rights of their function only."""

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
    """Let one worker user connect for the length of the block; yield its credentials."""
    key = server.worker_key_file.read_text().strip().encode()
    password_file = str(server.password_file("callout"))
    config = QueueConfig(url=server.url, user="callout", password_file=password_file)
    connection = QueueConnection(credentials_from_config(config), "tests", SystemClock())
    policy = CalloutPolicy(key, NATSConfig().worker_account, QueueNames(), user.__eq__)
    signer = TokenSigner(server.issuer_seed_file.read_text().strip())
    runnables: list[Runnable] = [connection, AuthCallout(connection, policy, signer, SystemClock())]
    credentials = NATSCredentials(server.url, user.name, user.password(key), user.inbox_prefix)
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(runnable.run()) for runnable in runnables]
        await eventually(
            lambda: can_connect(credentials), tolerate=(nats.errors.Error, TimeoutError)
        )
        yield credentials
        for task in tasks:
            task.cancel()


async def can_connect(credentials: NATSCredentials) -> bool:
    """Return True once the callout responds; raises nats errors before."""
    client = Client()
    try:
        await client.connect(
            credentials.url,
            user=credentials.user,
            password=credentials.password,
            inbox_prefix=credentials.inbox_prefix.encode(),
            allow_reconnect=False,
            error_cb=ignore_error,
        )
    finally:
        await client.close()
    return True
