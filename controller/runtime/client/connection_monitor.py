"""The connection to the cluster: required at the start, watched ever after."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, Protocol

from controller.runtime.client.rest import Call
from controller.runtime.clock import Clock
from controller.runtime.errors import ApiError, UnreadableError

PROBE_SECONDS: Final = 2.0
START_SECONDS: Final = 30.0
NOT_ASKED: Final = "the cluster has not been asked yet"

# Why a server that tells this of itself cannot be used; None if it can. ValueError: it is none.
Refusal = Callable[[str, bytes], str | None]

log = logging.getLogger(__name__)


class NoClusterError(Exception):
    """There is no cluster to work on, and waiting longer will not help."""


class Server(Protocol):
    """The part of a REST client that tells whether its server is there."""

    @property
    def server(self) -> str:
        """The address of the API server."""
        ...

    async def send(self, call: Call, *, within: float) -> bytes:
        """The body of a success, or an ApiError."""
        ...


class Connection:
    """Asks the API server every two seconds whether it is there."""

    def __init__(self, client: Server, clock: Clock, refusal: Refusal) -> None:
        self._client = client
        self._clock = clock
        self._refusal = refusal
        self._error: str | None = NOT_ASKED
        self._required = asyncio.Event()

    def not_ready(self) -> list[str]:
        """Why no work can be done; nothing while the cluster answers."""
        return [f"Kubernetes is not connected: {self._error}"] if self._error else []

    async def synced(self) -> None:
        """Wait until the cluster has answered and is new enough."""
        await self._required.wait()

    async def run(self) -> None:
        """Require the cluster, then watch the connection for ever; losing it ends nothing."""
        await self.require()
        self._required.set()
        while True:
            await self._clock.sleep(PROBE_SECONDS)
            try:
                await self._ask()
            except ApiError as error:
                self._become(str(error))
            else:
                self._become(None)

    async def require(self) -> None:
        """Wait until the cluster answers; NoClusterError when it is too old or does not."""
        deadline = self._clock.monotonic() + START_SECONDS
        while True:
            try:
                refusal = await self._ask()
            except ApiError as error:
                if self._clock.monotonic() >= deadline:
                    raise NoClusterError(f"gave up after {START_SECONDS:g} s: {error}") from error
                log.warning("waiting_for_cluster", extra={"kubeError": str(error)})
                await self._clock.sleep(PROBE_SECONDS)
                continue
            if refusal is not None:
                raise NoClusterError(refusal)
            return self._become(None)

    async def _ask(self) -> str | None:
        """Why the server cannot be used, if it answers."""
        body = await self._client.send(Call("GET", "/version"), within=PROBE_SECONDS)
        try:
            return self._refusal(self._client.server, body)
        except ValueError as error:
            raise UnreadableError(f"{self._client.server} is no API server: {error}") from error

    def _become(self, error: str | None) -> None:
        was, self._error = self._error, error
        if error is None and was is not None:
            log.info("cluster_connected", extra={"server": self._client.server})
        if error is not None and was is None:
            log.warning("cluster_lost", extra={"kubeError": error})
