"""The connection to the cluster: required at the start, watched ever after."""

import logging
from typing import Final, Protocol

from controller.runtime.clock import Clock
from controller.runtime.errors import ApiError
from shared.server_version import ServerVersion, unsupported

PROBE_SECONDS: Final = 2.0
START_SECONDS: Final = 30.0
NOT_ASKED: Final = "the cluster has not been asked yet"

log = logging.getLogger(__name__)


class NoClusterError(Exception):
    """There is no cluster to work on, and waiting longer will not help."""


class Server(Protocol):
    """The part of a REST client that tells whether its server is there."""

    @property
    def server(self) -> str:
        """The address of the API server."""
        ...

    async def get(self, path: str, kind: type[ServerVersion], *, within: float) -> ServerVersion:
        """GET `path` or an ApiError."""
        ...


class Connection:
    """Asks the API server every two seconds whether it is there."""

    def __init__(self, client: Server, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._error: str | None = NOT_ASKED

    def not_ready(self) -> list[str]:
        """Why no work can be done; nothing while the cluster answers."""
        return [f"Kubernetes is not connected: {self._error}"] if self._error else []

    async def run(self) -> None:
        """Require the cluster, then watch the connection for ever; losing it ends nothing."""
        await self.require()
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
                version = await self._ask()
            except ApiError as error:
                if self._clock.monotonic() >= deadline:
                    raise NoClusterError(f"gave up after {START_SECONDS:g} s: {error}") from error
                log.warning("waiting_for_cluster", extra={"kubeError": str(error)})
                await self._clock.sleep(PROBE_SECONDS)
                continue
            if not version.is_supported:
                raise NoClusterError(unsupported(self._client.server, version))
            return self._become(None)

    async def _ask(self) -> ServerVersion:
        return await self._client.get("/version", ServerVersion, within=PROBE_SECONDS)

    def _become(self, error: str | None) -> None:
        was, self._error = self._error, error
        if error is None and was is not None:
            log.info("cluster_connected", extra={"server": self._client.server})
        if error is not None and was is None:
            log.warning("cluster_lost", extra={"kubeError": error})
