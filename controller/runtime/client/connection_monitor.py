"""Monitors the connection to the cluster, which must work at the start."""

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
NOT_PROBED: Final = "the cluster has not responded yet"

# Returns why a server with this /version is not supported, or None; ValueError if it is invalid.
VersionCheck = Callable[[str, bytes], str | None]

log = logging.getLogger(__name__)


class ClusterUnavailableError(Exception):
    """The cluster does not respond, or its version is not supported."""


class RequestSender(Protocol):
    """The part of a REST client that the monitor needs."""

    @property
    def server(self) -> str:
        """Address of the API server."""
        ...

    async def send(self, request: KubeRequest, *, timeout_seconds: float) -> bytes:
        """Return the body of a successful response; KubeError otherwise."""
        ...


class ConnectionMonitor:
    """Requests the version of the API server every two seconds."""

    def __init__(self, client: RequestSender, clock: Clock, check_version: VersionCheck) -> None:
        self._client = client
        self._clock = clock
        self._check_version = check_version
        self._error: str | None = NOT_PROBED
        self._established = asyncio.Event()

    def not_ready(self) -> list[str]:
        """Return why the cluster is not available; empty while it responds."""
        return [f"Kubernetes is not connected: {self._error}"] if self._error else []

    async def synced(self) -> None:
        """Wait until the cluster has responded with a supported version."""
        await self._established.wait()

    async def run(self) -> None:
        """Wait for the cluster, then probe it until cancelled; a lost connection does not raise."""
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
        """Wait for a response; ClusterUnavailableError after 30 s or for an old version."""
        deadline = self._clock.monotonic() + STARTUP_TIMEOUT_SECONDS
        while True:
            try:
                problem = await self._probe()
            except KubeError as error:
                if self._clock.monotonic() >= deadline:
                    raise ClusterUnavailableError(
                        f"gave up after {STARTUP_TIMEOUT_SECONDS:g} s: {error}"
                    ) from error
                log.warning("waiting_for_cluster", extra={"kubeError": str(error)})
                await self._clock.sleep(PROBE_INTERVAL_SECONDS)
                continue
            if problem is not None:
                raise ClusterUnavailableError(problem)
            return self._set_error(None)

    async def _probe(self) -> str | None:
        """Request the version; return why it is not supported, or None."""
        body = await self._client.send(
            KubeRequest("GET", "/version"), timeout_seconds=PROBE_INTERVAL_SECONDS
        )
        try:
            return self._check_version(self._client.server, body)
        except ValueError as error:
            raise UndecodableError(
                f"{self._client.server} is not an API server: {error}"
            ) from error

    def _set_error(self, error: str | None) -> None:
        previous, self._error = self._error, error
        if error is None and previous is not None:
            log.info("cluster_connected", extra={"server": self._client.server})
        if error is not None and previous is None:
            log.warning("cluster_lost", extra={"kubeError": error})


def accept_any_version(server: str, body: bytes) -> str | None:
    """Accept every API server; ValueError if the response is not JSON."""
    json.loads(body)
    return None
