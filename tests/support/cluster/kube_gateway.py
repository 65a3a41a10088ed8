"""The runtime API's way to Kubernetes, on a real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import aiohttp
from prometheus_client import CollectorRegistry

from apiserver.clock import SystemClock
from apiserver.kube.access import Access
from apiserver.kube.client import KubeGateway
from apiserver.kube.credentials import Credentials
from apiserver.kube.kubeconfig import from_kubeconfig
from apiserver.kube.metrics import RestMetrics
from apiserver.kube.request import Call
from apiserver.kube.rest import RestClient, new_session
from tests.support.faults.tcp_proxy import TCPProxy

OBSERVER_SECONDS: Final = 60.0
OBSERVER_TIMEOUT: Final = aiohttp.ClientTimeout(total=OBSERVER_SECONDS)


class ObserverClient(RestClient):
    """Gives each call a minute: a look at a busy cluster fails no test. Not for watches."""

    async def send(self, call: Call, *, within: float = OBSERVER_SECONDS) -> bytes:
        """The body of a success, or a ClusterError."""
        return await super().send(call, within=within)

    async def _request(
        self, access: Access, call: Call, _: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        return await super()._request(access, call, OBSERVER_TIMEOUT)


@asynccontextmanager
async def gateway_of(
    kubeconfig: Path,
    *,
    through: TCPProxy | None = None,
    registry: CollectorRegistry | None = None,
    client: type[RestClient] = RestClient,
) -> AsyncIterator[KubeGateway]:
    """A gateway with the access of `kubeconfig`, for the length of the block."""
    clock = SystemClock()

    async def load() -> Access:
        access = await from_kubeconfig(kubeconfig)
        return replace(access, server=f"https://127.0.0.1:{through.port}") if through else access

    credentials = Credentials(load, await load(), clock)
    metrics = RestMetrics(registry or CollectorRegistry())
    async with new_session("test") as session:
        yield KubeGateway(client(session, credentials, metrics, clock))
