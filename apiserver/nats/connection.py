"""The connection to NATS, which is replaced whenever it ends."""

import asyncio
import logging
import os
import re
from pathlib import Path
from typing import Final

import nats.errors
from nats.aio.client import Client

from apiserver.cancellation import preserve_cancellation
from apiserver.config import NATSConfig
from apiserver.nats.port import ConnectionStatus
from shared.clock import Clock
from shared.config.loader import ConfigurationError

NOT_CONFIGURED: Final = "no queue is configured (nats.url is empty)"

_RETRY_INTERVAL_SECONDS: Final = 2.0
_PING_INTERVAL_SECONDS: Final = 10  # after two unanswered pings the client reconnects
# The client itself waits two seconds for a connect that it has aborted.
_CLOSE_TIMEOUT_SECONDS: Final = 3.0

log = logging.getLogger(__name__)


class QueueConnection:
    """A NATS client that is replaced whenever the server has closed its connection."""

    def __init__(self, config: NATSConfig, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._redacted_url = redact_url(config.url)
        self._last_error = "not connected yet"
        self._was_connected = False
        self._connect_condition = asyncio.Condition()
        self.client = Client()
        self.connect_count = 0

    @property
    def status(self) -> ConnectionStatus:
        """Return whether the client is connected, and the reason if it is not."""
        if self.client.is_connected:
            return ConnectionStatus(connected=True)
        if not self._config.url:
            return ConnectionStatus(connected=False, error=NOT_CONFIGURED)
        check = "Check that NATS runs there, and nats.user and nats.passwordFile."
        return ConnectionStatus(
            connected=False, error=f"{self._redacted_url}: {self._last_error}. {check}"
        )

    async def wait_for_connect(self, after_count: int) -> int:
        """Wait for a connection later than number `after_count`; return its number."""
        async with self._connect_condition:
            await self._connect_condition.wait_for(lambda: self.connect_count > after_count)
            return self.connect_count

    async def run(self) -> None:
        """Connect, and reconnect whenever the connection ends, until cancelled."""
        while True:
            await self._connect_until_closed()
            await self._clock.sleep(_RETRY_INTERVAL_SECONDS)

    async def _connect_until_closed(self) -> None:
        self.client, closed = Client(), asyncio.Event()

        async def on_closed() -> None:
            closed.set()

        try:
            with preserve_cancellation():
                await self.client.connect(
                    self._config.url,
                    name="gpu-runtime-api",
                    user=self._config.user or None,
                    password=self._read_password if self._config.password_file else None,
                    max_reconnect_attempts=-1,
                    ping_interval=_PING_INTERVAL_SECONDS,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_connected,
                    closed_cb=on_closed,
                )
            await self._on_connected()
            await closed.wait()
        except (nats.errors.Error, OSError, TimeoutError) as error:
            await self._on_error(error)
        finally:
            await close_quietly(self.client)

    def _read_password(self) -> str:
        return Path(self._config.password_file).read_text().strip()

    async def _on_connected(self) -> None:
        self._was_connected, self._last_error = True, "the connection was lost"
        log.info("queue_connected", extra={"url": self._redacted_url})
        async with self._connect_condition:
            self.connect_count += 1
            self._connect_condition.notify_all()

    async def _on_disconnected(self) -> None:
        if self._was_connected:  # the client also reports failed attempts to connect
            log.warning("queue_lost", extra={"queueError": self.status.error})
        self._was_connected = False

    async def _on_error(self, error: Exception) -> None:
        self._last_error = describe_error(error)


def describe_error(error: Exception) -> str:
    """Return the reason of a connection failure as text, never empty."""
    if isinstance(error, TimeoutError):
        return "no response in time"
    number = error.errno if isinstance(error, OSError) else None
    return (os.strerror(number) if number else str(error)) or type(error).__name__


def require_readable_password(config: NATSConfig) -> None:
    """Raise ConfigurationError if a password file is configured and cannot be read."""
    try:
        if config.password_file:
            Path(config.password_file).read_bytes()
    except OSError as error:
        problem = f"{config.password_file!r} cannot be read: {error.strerror}"
        raise ConfigurationError(f"nats.passwordFile: {problem}") from error


def redact_url(url: str) -> str:
    """Return the URL without user and password."""
    return re.sub(r"//[^@/]*@", "//", url)


async def close_quietly(client: Client) -> None:
    """Close the connection within a time limit; log a failure and discard unsent data.

    If the server is gone, the client raises an error here even in place of a cancellation. If the
    server does not read, the client would wait without end.
    """
    try:
        with preserve_cancellation():
            async with asyncio.timeout(_CLOSE_TIMEOUT_SECONDS):
                await client.close()
    except (nats.errors.Error, OSError, TimeoutError) as error:
        log.info("queue_left_open", extra={"reason": str(error) or repr(error)})
