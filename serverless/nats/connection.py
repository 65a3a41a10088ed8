"""One connection to the queue, kept for ever."""

import asyncio
import logging
from typing import Final

import nats.errors
from nats.aio.client import Client

from controller.runtime.clock import Clock
from serverless.nats.cancellation import preserve_cancellation
from serverless.nats.close import close_quietly
from serverless.nats.config import QueueConfig, read_secret_file
from serverless.nats.errors import UnavailableError

RETRY_SECONDS: Final = 2.0
PING_INTERVAL_SECONDS: Final = 10  # two unanswered pings are a dead connection

log = logging.getLogger(__name__)


class QueueConnection:
    """Connects, and once more whenever the server has thrown us out; `epoch` counts connects."""

    def __init__(self, config: QueueConfig, name: str, clock: Clock) -> None:
        self._config = config
        self._name = name
        self._clock = clock
        self._client: Client | None = None
        self._closed = asyncio.Event()
        self._connect_condition = asyncio.Condition()
        self._last_error = "not connected yet"
        self.connect_count = 0

    @property
    def client(self) -> Client:
        """The live client, or UnavailableError."""
        if self._client is None or not self._client.is_connected:
            raise UnavailableError(f"the queue is not connected: {self._last_error}")
        return self._client

    def not_ready(self) -> list[str]:
        """Why nothing can be asked; nothing while the connection stands."""
        is_up = self._client is not None and self._client.is_connected
        return [] if is_up else [f"the queue is not connected: {self._last_error}"]

    async def wait_for_connect(self, connect_count: int) -> int:
        """Wait for a connect after that of `epoch`; its number."""
        async with self._connect_condition:
            await self._connect_condition.wait_for(lambda: self.connect_count > connect_count)
        return self.connect_count

    async def synced(self) -> None:
        """Wait for the first connect."""
        await self.wait_for_connect(0)

    async def run(self) -> None:
        """Stay connected for ever."""
        while True:
            self._closed.clear()
            client = Client()
            try:
                with preserve_cancellation():
                    await self._connect(client)
                await self._closed.wait()
            except (nats.errors.Error, OSError, TimeoutError) as error:
                await self._on_error(error)
            finally:
                self._client = None
                await close_quietly(client)
            await self._clock.sleep(RETRY_SECONDS)

    async def _connect(self, client: Client) -> None:
        await client.connect(
            self._config.url,
            name=self._name,
            user=self._config.user or None,
            password=self._read_password if self._config.password_file else None,
            max_reconnect_attempts=-1,
            ping_interval=PING_INTERVAL_SECONDS,
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnected,
            reconnected_cb=self._on_connected,
            closed_cb=self._on_closed,
        )
        self._client = client
        await self._on_connected()

    def _read_password(self) -> str:
        return read_secret_file(self._config.password_file, "nats.passwordFile")

    async def _on_connected(self) -> None:
        self._last_error = "the connection was lost"
        log.info("queue_connected", extra={"user": self._config.user})
        async with self._connect_condition:
            self.connect_count += 1
            self._connect_condition.notify_all()

    async def _on_disconnected(self) -> None:
        if self._client is not None:  # the client also tells of attempts that failed
            log.warning("queue_lost", extra={"queueError": self._last_error})

    async def _on_error(self, error: Exception) -> None:
        self._last_error = str(error) or type(error).__name__

    async def _on_closed(self) -> None:
        self._closed.set()
