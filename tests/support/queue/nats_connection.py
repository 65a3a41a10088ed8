"""The permissions of a NATS user, tried on the real server."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
from nats.aio.client import Client

from hack.cluster.nats_server import NATSServer
from tests.support.wait.eventually import eventually


class NATSConnection:
    """A connection, and the errors that the server has sent on it."""

    def __init__(self) -> None:
        self.client = Client()
        self._errors: list[str] = []

    async def record_error(self, error: Exception) -> None:
        """Keep an error of the server."""
        self._errors.append(str(error))

    async def can_publish(self, subject: str) -> bool:
        """Return whether the server accepts a message on `subject`, also without a subscriber."""
        await self.client.publish(subject, b"")
        return await self._was_permitted(f'publish to "{subject}"'.lower())

    async def can_subscribe(self, subject: str) -> bool:
        """Return whether the server permits a subscription to `subject`."""
        await self.client.subscribe(subject)
        return await self._was_permitted(f'subscription to "{subject}"'.lower())

    async def _was_permitted(self, error_text: str) -> bool:
        """Return whether `error_text` is absent before the error of a later, forbidden publish."""
        forbidden_subject = f"refused.{secrets.token_hex(4)}"
        await self.client.publish(forbidden_subject, b"")

        async def received_errors() -> str:
            return "\n".join(self._errors).lower()

        errors = await eventually(received_errors, lambda text: forbidden_subject in text)
        return error_text not in errors


@asynccontextmanager
async def connect_as(
    nats_server: NATSServer, user: str, password: str, inbox_prefix: str = "_INBOX"
) -> AsyncIterator[NATSConnection]:
    """Connect as a user with limited permissions, for the length of the block."""
    connection = NATSConnection()
    connection.client = await nats.connect(
        nats_server.url,
        user=user,
        password=password,
        inbox_prefix=inbox_prefix.encode(),
        error_cb=connection.record_error,
        allow_reconnect=False,
    )
    try:
        yield connection
    finally:
        await connection.client.close()
