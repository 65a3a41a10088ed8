"""The connection to the cluster: required at the start, watched ever after."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Final, Protocol

from controller.runtime.client.rest import KubeRequest
from controller.runtime.clock import Clock
from controller.runtime.errors import KubeError, UndecodableError

PROBE_INTERVAL_SECONDS: Final = 2.0
STARTUP_TIMEOUT_SECONDS: Final = 30.0
NOT_PROBED: Final = "the cluster has not been asked yet"

# Why a server that tells this of itself cannot be used; None if it can. ValueError: it is none.
VersionCheck = Callable[[str, bytes], str | None]

log = logging.getLogger(__name__)


class ClusterUnavailableError(Exception):
    """There is no cluster to work on, and waiting longer will not help."""


class RequestSender(Protocol):
    """The part of a REST client that tells whether its server is there."""

    @property
    def server(self) -> str:
        """The address of the API server."""
        ...

    async def send(self, request: KubeRequest, *, timeout_seconds: float) -> bytes:
        """The body of a success, or a KubeError."""
        ...


class ConnectionMonitor:
    """Asks the API server every two seconds whether it is there."""

    def __init__(self, client: RequestSender, clock: Clock, check_version: VersionCheck) -> None:
        self._client = client
        self._clock = clock
        self._check_version = check_version
        self._error: str | None = NOT_PROBED
        self._established = asyncio.Event()

    def not_ready(self) -> list[str]:
        """Why no work can be done; nothing while the cluster answers."""
        return [f"Kubernetes is not connected: {self._error}"] if self._error else []

    async def synced(self) -> None:
        """Wait until the cluster has answered and is new enough."""
        await self._established.wait()

    async def run(self) -> None:
        """Require the cluster, then watch the connection for ever; losing it ends nothing."""
        await self.wait_until_connected()
        self._established.set()
        while True:
            await self._clock.sleep(PROBE_INTERVAL_SECONDS)
            try:
                await self._probe()
            except KubeError as error:
                self._set_error(str(error))
            else:
                self._set_error(None)

    async def wait_until_connected(self) -> None:
        """Wait until the cluster answers; ClusterUnavailableError if it does not or is too old."""
        deadline = self._clock.monotonic() + STARTUP_TIMEOUT_SECONDS
        while True:
            try:
                refusal = await self._probe()
            except KubeError as error:
                if self._clock.monotonic() >= deadline:
                    raise ClusterUnavailableError(
                        f"gave up after {STARTUP_TIMEOUT_SECONDS:g} s: {error}"
                    ) from error
                log.warning("waiting_for_cluster", extra={"kubeError": str(error)})
                await self._clock.sleep(PROBE_INTERVAL_SECONDS)
                continue
            if refusal is not None:
                raise ClusterUnavailableError(refusal)
            return self._set_error(None)

    async def _probe(self) -> str | None:
        """Why the server cannot be used, if it answers."""
        body = await self._client.send(
            KubeRequest("GET", "/version"), timeout_seconds=PROBE_INTERVAL_SECONDS
        )
        try:
            return self._check_version(self._client.server, body)
        except ValueError as error:
            raise UndecodableError(f"{self._client.server} is no API server: {error}") from error

    def _set_error(self, error: str | None) -> None:
        was, self._error = self._error, error
        if error is None and was is not None:
            log.info("cluster_connected", extra={"server": self._client.server})
        if error is not None and was is None:
            log.warning("cluster_lost", extra={"kubeError": error})


def accept_any_version(server: str, body: bytes) -> str | None:
    """Accept every API server; ValueError if the answer is not JSON."""
    json.loads(body)
    return None
