"""The runtime API's way to Kubernetes, on a real server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import aiohttp
from prometheus_client import CollectorRegistry

from apiserver.clock import SystemClock
from apiserver.kube.access import RestConfig
from apiserver.kube.client import RestKubeClient
from apiserver.kube.credentials import Credentials
from apiserver.kube.kubeconfig import load_kubeconfig
from apiserver.kube.metrics import RestMetrics
from apiserver.kube.request import KubeRequest
from apiserver.kube.rest import RestClient, create_session
from tests.support.faults.tcp_proxy import TCPProxy

PATIENT_TIMEOUT_SECONDS: Final = 60.0
PATIENT_TIMEOUT: Final = aiohttp.ClientTimeout(total=PATIENT_TIMEOUT_SECONDS)


class PatientRestClient(RestClient):
    """Gives each call a minute: a look at a busy cluster fails no test. Not for watches."""

    async def send(
        self, request: KubeRequest, *, timeout_seconds: float = PATIENT_TIMEOUT_SECONDS
    ) -> bytes:
        """The body of a success, or a ClusterError."""
        return await super().send(request, timeout_seconds=timeout_seconds)

    async def _send_http(
        self, config: RestConfig, request: KubeRequest, _: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        return await super()._send_http(config, request, PATIENT_TIMEOUT)


@asynccontextmanager
async def open_gateway(
    kubeconfig: Path,
    *,
    proxy: TCPProxy | None = None,
    registry: CollectorRegistry | None = None,
    client_class: type[RestClient] = RestClient,
) -> AsyncIterator[RestKubeClient]:
    """A gateway with the access of `kubeconfig`, for the length of the block."""
    clock = SystemClock()

    async def load() -> RestConfig:
        access = await load_kubeconfig(kubeconfig)
        return replace(access, server=f"https://127.0.0.1:{proxy.port}") if proxy else access

    credentials = Credentials(load, await load(), clock)
    metrics = RestMetrics(registry or CollectorRegistry())
    async with create_session("test") as session:
        yield RestKubeClient(client_class(session, credentials, metrics, clock))
