"""What a user of the queue may do, asked of the real server."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client

from hack.cluster.nats_server import NATSServer
from tests.support.wait.eventually import eventually


class NATSConnection:
    """One connection, and what the server has refused on it."""

    def __init__(self) -> None:
        self.client = Client()
        self._errors: list[str] = []

    async def record_error(self, error: Exception) -> None:
        """Remember what the server complains about."""
        self._errors.append(str(error))

    async def can_publish(self, subject: str) -> bool:
        """Whether the server takes a message on `subject`; nobody has to listen there."""
        await self.client.publish(subject, b"")
        return await self._was_permitted(f'publish to "{subject}"'.lower())

    async def can_subscribe(self, subject: str) -> bool:
        """Whether the server lets it listen to `subject`."""
        await self.client.subscribe(subject)
        return await self._was_permitted(f'subscription to "{subject}"'.lower())

    async def _was_permitted(self, error_text: str) -> bool:
        """The server complains in order: once a later refusal is heard, there was no earlier."""
        fence = f"refused.{secrets.token_hex(4)}"
        await self.client.publish(fence, b"")

        async def heard() -> str:
            return "\n".join(self._errors).lower()

        said = await eventually(heard, lambda text: fence in text)
        return error_text not in said


@asynccontextmanager
async def connect_as(
    nats_server: NATSServer, user: str, password: str, inbox_prefix: str = "_INBOX"
) -> AsyncIterator[NATSConnection]:
    """A connection of a user who may not do everything, for the length of the block."""
    made = NATSConnection()
    made.client = await nats.connect(
        nats_server.url,
        user=user,
        password=password,
        inbox_prefix=inbox_prefix.encode(),
        error_cb=made.record_error,
        allow_reconnect=False,
    )
    try:
        yield made
    finally:
        await made.client.close()
