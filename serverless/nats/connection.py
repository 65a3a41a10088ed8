"""One connection to the queue, kept for ever."""

import asyncio
import logging
from typing import Final

import nats.errors
from nats.aio.client import Client

from controller.runtime.clock import Clock
from serverless.nats.cancellation import heeding_cancellation
from serverless.nats.close import leave
from serverless.nats.config import QueueConfig, secret_of
from serverless.nats.errors import UnavailableError

AGAIN_SECONDS: Final = 2.0
PING_SECONDS: Final = 10  # two unanswered pings are a dead connection

log = logging.getLogger(__name__)


class QueueConnection:
    """Connects, and once more whenever the server has thrown us out; `epoch` counts connects."""

    def __init__(self, config: QueueConfig, name: str, clock: Clock) -> None:
        self._config = config
        self._name = name
        self._clock = clock
        self._client: Client | None = None
        self._closed = asyncio.Event()
        self._changed = asyncio.Condition()
        self._trouble = "not connected yet"
        self.epoch = 0

    @property
    def client(self) -> Client:
        """The live client, or UnavailableError."""
        if self._client is None or not self._client.is_connected:
            raise UnavailableError(f"the queue is not connected: {self._trouble}")
        return self._client

    def not_ready(self) -> list[str]:
        """Why nothing can be asked; nothing while the connection stands."""
        is_up = self._client is not None and self._client.is_connected
        return [] if is_up else [f"the queue is not connected: {self._trouble}"]

    async def newer_than(self, epoch: int) -> int:
        """Wait for a connect after that of `epoch`; its number."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.epoch > epoch)
        return self.epoch

    async def synced(self) -> None:
        """Wait for the first connect."""
        await self.newer_than(0)

    async def run(self) -> None:
        """Stay connected for ever."""
        while True:
            self._closed.clear()
            client = Client()
            try:
                with heeding_cancellation():
                    await self._connect(client)
                await self._closed.wait()
            except (nats.errors.Error, OSError, TimeoutError) as error:
                await self._noted(error)
            finally:
                self._client = None
                await leave(client)
            await self._clock.sleep(AGAIN_SECONDS)

    async def _connect(self, client: Client) -> None:
        await client.connect(
            self._config.url,
            name=self._name,
            user=self._config.user or None,
            password=self._password if self._config.password_file else None,
            max_reconnect_attempts=-1,
            ping_interval=PING_SECONDS,
            error_cb=self._noted,
            disconnected_cb=self._lost,
            reconnected_cb=self._connected,
            closed_cb=self._ended,
        )
        self._client = client
        await self._connected()

    def _password(self) -> str:
        return secret_of(self._config.password_file, "nats.passwordFile")

    async def _connected(self) -> None:
        self._trouble = "the connection was lost"
        log.info("queue_connected", extra={"user": self._config.user})
        async with self._changed:
            self.epoch += 1
            self._changed.notify_all()

    async def _lost(self) -> None:
        if self._client is not None:  # the client also tells of attempts that failed
            log.warning("queue_lost", extra={"queueError": self._trouble})

    async def _noted(self, error: Exception) -> None:
        self._trouble = str(error) or type(error).__name__

    async def _ended(self) -> None:
        self._closed.set()
