"""Tests of the REST client's circuit breaker on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import aiohttp
import msgspec
import pytest
from prometheus_client import CollectorRegistry

from apiserver.circuit_breaker import MAX_FAILURES, OPEN_SECONDS, CircuitBreaker
from apiserver.kube import errors as kube_errors
from apiserver.kube.client import NoCluster, RestKubeClient
from apiserver.kube.credentials import Credentials
from apiserver.kube.kubeconfig import RestConfig
from apiserver.kube.metrics import RestMetrics
from apiserver.kube.port import ListOptions
from apiserver.kube.request import InvalidNameError, KubeRequest, KubeResponse, UnencodableBodyError
from apiserver.kube.resources import GPU_UNITS
from apiserver.kube.rest import RestClient
from shared.k8s.meta import ObjectMeta
from shared.v1alpha1.gpuunit import GPUUnit, GPUUnitSpec
from tests.support.clocks.auto_advance_clock import AutoAdvanceClock
from tests.unit.apiserver.scripted_gateway import V1_34

DOWN = kube_errors.UnreachableError("https://k8s cannot be reached: Connection refused.")
UNIT = GPUUnit(metadata=ObjectMeta(name="one"), spec=GPUUnitSpec(spec_name="s", memory="1Gi"))


async def load_config() -> RestConfig:
    return RestConfig("https://k8s")


class FailingRestClient(RestClient):
    """REST client with a fake server, which fails with `error` if it is set; counts its reads."""

    def __init__(self, clock: AutoAdvanceClock) -> None:
        credentials = Credentials(load_config, RestConfig("https://k8s"), clock)
        session, metrics = cast(aiohttp.ClientSession, None), RestMetrics(CollectorRegistry())
        super().__init__(session, credentials, metrics, clock, CircuitBreaker(clock))
        self.error: kube_errors.KubeError | None = None
        self.reads = 0
        self.before_response: Callable[[], Awaitable[None]] | None = None

    async def _send(self, request: KubeRequest, timeout_seconds: float) -> bytes:
        if request.path == "/version":
            return self._respond(V1_34)
        self.reads += 1
        if self.before_response:
            await self.before_response()
        return self._respond(UNIT)

    async def _open_once(
        self, config: RestConfig, request: KubeRequest
    ) -> KubeResponse | aiohttp.ClientResponse:
        self._respond(UNIT)
        return KubeResponse(410, b"")

    def _respond(self, value: object) -> bytes:
        if self.error:
            raise self.error
        return msgspec.json.encode(value)


class GuardedClient:
    """Kubernetes client on a failing REST client, with a virtual clock."""

    def __init__(self) -> None:
        self.clock = AutoAdvanceClock()
        self.rest = FailingRestClient(self.clock)
        self.kube = RestKubeClient(self.rest)

    async def read(self) -> GPUUnit:
        return await self.kube.get(GPU_UNITS, "here", "one")

    async def fail(self, times: int, error: kube_errors.KubeError) -> None:
        self.rest.error = error
        for _ in range(times):
            with pytest.raises(type(error)):
                await self.read()

    async def open_breaker(self) -> None:
        await self.fail(MAX_FAILURES, DOWN)


@pytest.fixture
async def client() -> GuardedClient:
    return GuardedClient()


async def test_an_open_circuit_breaker_sends_no_request(client: GuardedClient) -> None:
    await client.open_breaker()
    with pytest.raises(kube_errors.NotSentError) as caught:
        await client.read()
    assert client.rest.reads == MAX_FAILURES
    assert str(caught.value) == f"{DOWN} Requests are paused for 5 s."
    assert caught.value.retry_after == 5


async def test_timeouts_count_as_failures_of_the_circuit_breaker(
    client: GuardedClient,
) -> None:
    await client.fail(MAX_FAILURES, kube_errors.RequestTimeoutError("slow."))
    with pytest.raises(kube_errors.NotSentError, match=r"^slow\. Requests are paused"):
        await client.read()


@pytest.mark.parametrize(
    "error", [kube_errors.NotFoundError("gone"), kube_errors.ThrottledError("busy")]
)
async def test_an_error_response_does_not_count_as_a_failure(
    client: GuardedClient, error: kube_errors.KubeError
) -> None:
    await client.fail(MAX_FAILURES - 1, DOWN)
    await client.fail(10, error)
    assert client.rest.reads == MAX_FAILURES - 1 + 10
    await client.fail(MAX_FAILURES - 1, DOWN)


async def test_one_successful_probe_closes_the_circuit_breaker(
    client: GuardedClient,
) -> None:
    await client.open_breaker()
    client.rest.error = None
    client.clock.advance(OPEN_SECONDS)
    assert await client.read() == UNIT
    assert await client.read() == UNIT


async def test_other_calls_fail_at_once_while_the_probe_is_in_flight(
    client: GuardedClient,
) -> None:
    await client.open_breaker()
    client.rest.error = None
    client.clock.advance(OPEN_SECONDS)
    permitted = asyncio.Event()

    async def wait() -> None:
        await permitted.wait()

    client.rest.before_response = wait
    async with asyncio.TaskGroup() as group:
        probe = group.create_task(client.read())
        await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(kube_errors.NotSentError):
                await client.read()
        permitted.set()
    assert probe.result() == UNIT
    assert client.rest.reads == MAX_FAILURES + 1


async def test_a_cancelled_probe_allows_the_next_probe(
    client: GuardedClient,
) -> None:
    await client.open_breaker()
    client.clock.advance(OPEN_SECONDS)

    async def cancel() -> None:
        raise asyncio.CancelledError

    client.rest.before_response = cancel
    with pytest.raises(asyncio.CancelledError):
        await client.read()
    client.rest.before_response, client.rest.error = None, None
    assert await client.read() == UNIT


async def test_an_invalid_name_does_not_count_for_the_circuit_breaker(
    client: GuardedClient,
) -> None:
    await client.open_breaker()
    client.clock.advance(OPEN_SECONDS)
    with pytest.raises(InvalidNameError):
        await client.kube.get(GPU_UNITS, "here", "no/name")
    assert client.rest.reads == MAX_FAILURES
    await client.fail(1, DOWN)
    with pytest.raises(kube_errors.NotSentError):
        await client.read()


async def test_a_version_call_is_never_blocked_and_allows_a_probe_at_once(
    client: GuardedClient,
) -> None:
    await client.open_breaker()
    with pytest.raises(kube_errors.UnreachableError, match=r"refused\.$"):
        await client.kube.server_version()
    client.rest.error = None
    with pytest.raises(kube_errors.NotSentError):
        await client.read()
    assert await client.kube.server_version() == V1_34
    assert await client.read() == UNIT


async def test_a_version_response_alone_does_not_close_the_breaker(client: GuardedClient) -> None:
    """Check that /version is not enough: a server without its storage still responds to it."""
    await client.open_breaker()
    client.rest.error = None
    await client.kube.server_version()
    await client.fail(1, DOWN)
    with pytest.raises(kube_errors.NotSentError):
        await client.read()


async def test_a_body_that_cannot_be_encoded_does_not_count_for_the_circuit_breaker(
    client: GuardedClient,
) -> None:
    await client.open_breaker()
    client.clock.advance(OPEN_SECONDS)
    with pytest.raises(UnencodableBodyError):
        await client.kube.create(GPU_UNITS, "here", {"metadata": {"name": "\ud800"}})
    assert client.rest.reads == MAX_FAILURES
    await client.fail(1, DOWN)


async def test_a_watch_is_not_sent_while_the_breaker_is_open(client: GuardedClient) -> None:
    await client.open_breaker()
    with pytest.raises(kube_errors.NotSentError):
        await anext(client.kube.watch(GPU_UNITS, "here", "one", ""))


async def test_a_failed_watch_does_not_count_for_the_circuit_breaker(
    client: GuardedClient,
) -> None:
    await client.fail(MAX_FAILURES - 1, DOWN)
    for _ in range(MAX_FAILURES):
        with pytest.raises(kube_errors.UnreachableError, match=r"refused\.$"):
            await anext(client.kube.watch(GPU_UNITS, "here", "one", ""))
    await client.fail(1, DOWN)
    assert client.rest.reads == MAX_FAILURES


async def test_a_watch_is_never_the_probe(client: GuardedClient) -> None:
    await client.open_breaker()
    client.clock.advance(OPEN_SECONDS)
    with pytest.raises(kube_errors.NotSentError):
        await anext(client.kube.watch(GPU_UNITS, "here", "one", ""))
    client.rest.error = None
    assert await client.read() == UNIT


async def test_without_a_cluster_every_request_fails_with_the_reason() -> None:
    kube = RestKubeClient(NoCluster("no cluster is configured."))
    assert kube.server == "no cluster"
    calls: tuple[Awaitable[object], ...] = (
        kube.server_version(),
        kube.list_nodes(),
        kube.list_storage_classes(),
        kube.get(GPU_UNITS, "here", "one"),
        kube.list(GPU_UNITS, "here", ListOptions()),
        kube.create(GPU_UNITS, "here", {}),
        kube.patch(GPU_UNITS, "here", "one", {}),
        kube.delete(GPU_UNITS, "here", "one"),
        anext(kube.watch(GPU_UNITS, "here", "one", "")),
    )
    for call in calls:
        with pytest.raises(kube_errors.NotSentError, match=r"^no cluster is configured\.$"):
            await call
