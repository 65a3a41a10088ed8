"""The runtime API's client of Kubernetes, on a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import aiohttp
from prometheus_client import CollectorRegistry

from apiserver.circuit_breaker import CallResult, CircuitBreaker, Permit
from apiserver.clock import SystemClock
from apiserver.kube import errors as kube_errors
from apiserver.kube.client import RestKubeClient
from apiserver.kube.credentials import Credentials
from apiserver.kube.kubeconfig import RestConfig, load_kubeconfig
from apiserver.kube.metrics import RestMetrics
from apiserver.kube.request import KubeRequest
from apiserver.kube.rest import RestClient, create_session

PATIENT_TIMEOUT_SECONDS: Final = 60.0
PATIENT_TIMEOUT: Final = aiohttp.ClientTimeout(total=PATIENT_TIMEOUT_SECONDS)


class PatientRestClient(RestClient):
    """A client that waits a minute for a busy cluster, also after 429. Not for watches."""

    async def send(
        self,
        request: KubeRequest,
        *,
        timeout_seconds: float = PATIENT_TIMEOUT_SECONDS,
        guarded: bool = True,
    ) -> bytes:
        """Return the body of a successful response; raises KubeError."""
        async with asyncio.timeout(PATIENT_TIMEOUT_SECONDS):
            while True:
                try:
                    return await super().send(
                        request, timeout_seconds=timeout_seconds, guarded=guarded
                    )
                except kube_errors.ThrottledError as error:
                    await asyncio.sleep(error.retry_after or 1)

    async def _send_http(
        self, config: RestConfig, request: KubeRequest, _: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        return await super()._send_http(config, request, PATIENT_TIMEOUT)


class ClosedCircuitBreaker(CircuitBreaker):
    """A circuit breaker that never opens: the test sees every failure itself."""

    def release(self, permit: Permit, result: CallResult) -> None:
        """Ignore the result."""


@asynccontextmanager
async def open_gateway(
    kubeconfig: Path,
    *,
    port: int | None = None,
    registry: CollectorRegistry | None = None,
    client_class: type[RestClient] = RestClient,
    breaker: CircuitBreaker | None = None,
) -> AsyncIterator[RestKubeClient]:
    """Open a gateway with the credentials of `kubeconfig`.

    A local `port` replaces its server. Without `breaker` every call is sent.
    """
    clock = SystemClock()

    async def load() -> RestConfig:
        config = await load_kubeconfig(kubeconfig)
        return replace(config, server=f"https://127.0.0.1:{port}") if port else config

    credentials = Credentials(load, await load(), clock)
    metrics = RestMetrics(registry or CollectorRegistry())
    async with create_session("test") as session:
        breaker = breaker or ClosedCircuitBreaker(clock)
        yield RestKubeClient(client_class(session, credentials, metrics, clock, breaker))
