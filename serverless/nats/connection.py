"""The NATS connection of a process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final

import nats.errors
from nats.aio.client import DEFAULT_RECONNECT_TIME_WAIT, Client
from nats.aio.msg import Msg

from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.close import close_quietly
from serverless.nats.credentials import CredentialsSource, NATSCredentials
from serverless.nats.errors import UnavailableError
from shared.clock import Clock

RETRY_SECONDS: Final = 2.0
PING_INTERVAL_SECONDS: Final = 10  # two unanswered pings close the connection

MessageHandler = Callable[[Msg], Awaitable[None]]

_NO_SUBSCRIPTIONS: Final[Mapping[str, MessageHandler]] = MappingProxyType({})

log = logging.getLogger(__name__)


class ConnectionLog:
    """Logs the events of a connection; errors are not logged, readiness shows the last one."""

    def connected(self, credentials: NATSCredentials) -> None:
        """Log a connect or a reconnect."""
        log.info("queue_connected", extra={"user": credentials.user})

    def disconnected(self, last_error: str) -> None:
        """Log the loss of an established connection."""
        log.warning("queue_lost", extra={"queueError": last_error})

    def failed(self, error: Exception) -> None:
        """Log an error that nats-py reports."""

    def unreachable(self, error: Exception) -> None:
        """Log a connect that failed."""


class QueueConnection:
    """Connects, and connects again with a new client after the server has closed the connection.

    `connect_count` counts connects, including the reconnects of one client.
    """

    def __init__(
        self,
        credentials_source: CredentialsSource,
        name: str,
        clock: Clock,
        *,
        retry_seconds: float = RETRY_SECONDS,
        reconnect_wait_seconds: int = DEFAULT_RECONNECT_TIME_WAIT,
        connection_log: ConnectionLog | None = None,
    ) -> None:
        self._credentials_source = credentials_source
        self._name = name
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._reconnect_wait_seconds = reconnect_wait_seconds
        self._log = connection_log or ConnectionLog()
        self._client: Client | None = None
        self._connect_condition = asyncio.Condition()
        self._last_error = "not connected yet"
        self.connect_count = 0

    @property
    def is_connected(self) -> bool:
        """Whether a request can be sent now."""
        return self._client is not None and self._client.is_connected

    @property
    def client(self) -> Client:
        """The connected client; raises UnavailableError.

        A client without a connection would keep a request and send it much later.
        """
        if self._client is None or not self._client.is_connected:
            raise UnavailableError(f"the queue is not connected: {self._last_error}")
        return self._client

    def not_ready(self) -> list[str]:
        """Return why no request can be sent; empty while connected."""
        return [] if self.is_connected else [f"the queue is not connected: {self._last_error}"]

    async def wait_for_connect(self, connect_count: int) -> int:
        """Wait until there were more connects than `connect_count`; return their number."""
        async with self._connect_condition:
            await self._connect_condition.wait_for(lambda: self.connect_count > connect_count)
        return self.connect_count

    async def synced(self) -> None:
        """Wait for the first connect."""
        await self.wait_for_connect(0)

    async def run(
        self,
        subscriptions: Mapping[str, MessageHandler] = _NO_SUBSCRIPTIONS,
        on_connected: Callable[[], None] = lambda: None,
    ) -> None:
        """Stay connected until cancelled; call `on_connected` after each connect and reconnect.

        Each client has the subscriptions before `client` returns it and before `on_connected`.
        """
        while True:
            try:
                await self._run_client(subscriptions, on_connected)
            except (nats.errors.Error, OSError, TimeoutError) as error:
                self._note_error(error)
                self._log.unreachable(error)
            await self._clock.sleep(self._retry_seconds)

    async def _run_client(
        self, subscriptions: Mapping[str, MessageHandler], on_connected: Callable[[], None]
    ) -> None:
        """Connect one client and wait until it is closed."""
        credentials, client, closed = self._credentials_source(), Client(), asyncio.Event()

        async def announce() -> None:
            await self._announce(credentials, on_connected)

        async def note_closed() -> None:
            closed.set()

        try:
            with preserve_cancellation():
                await self._connect(client, credentials, announce, note_closed)
                for subject, handler in subscriptions.items():
                    await client.subscribe(subject, cb=handler)
            self._client = client
            await announce()
            await closed.wait()
        finally:
            self._client = None
            await close_quietly(client)

    async def _connect(
        self,
        client: Client,
        credentials: NATSCredentials,
        on_reconnected: Callable[[], Awaitable[None]],
        on_closed: Callable[[], Awaitable[None]],
    ) -> None:
        await client.connect(
            credentials.url,
            name=self._name,
            user=credentials.user or None,
            password=credentials.password or None,
            inbox_prefix=credentials.inbox_prefix.encode(),
            max_reconnect_attempts=-1,
            reconnect_time_wait=self._reconnect_wait_seconds,
            ping_interval=PING_INTERVAL_SECONDS,
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnected,
            reconnected_cb=on_reconnected,
            closed_cb=on_closed,
        )

    async def _announce(
        self, credentials: NATSCredentials, on_connected: Callable[[], None]
    ) -> None:
        self._last_error = "the connection was lost"
        self._log.connected(credentials)
        on_connected()
        async with self._connect_condition:
            self.connect_count += 1
            self._connect_condition.notify_all()

    async def _on_disconnected(self) -> None:
        if self._client is not None:  # nats-py also reports failed attempts and our own close
            self._log.disconnected(self._last_error)

    async def _on_error(self, error: Exception) -> None:
        self._note_error(error)
        self._log.failed(error)

    def _note_error(self, error: Exception) -> None:
        self._last_error = str(error) or type(error).__name__
