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


class MoodyRestClient(RestClient):
    """REST client with a fake server, which fails with the error `mood`; counts the reads sent."""

    def __init__(self, clock: AutoAdvanceClock) -> None:
        credentials = Credentials(load_config, RestConfig("https://k8s"), clock)
        session, metrics = cast(aiohttp.ClientSession, None), RestMetrics(CollectorRegistry())
        super().__init__(session, credentials, metrics, clock, CircuitBreaker(clock))
        self.mood: kube_errors.KubeError | None = None
        self.reads = 0
        self.hold: Callable[[], Awaitable[None]] | None = None

    async def _send(self, request: KubeRequest, timeout_seconds: float) -> bytes:
        if request.path == "/version":
            return self._answer(V1_34)
        self.reads += 1
        if self.hold:
            await self.hold()
        return self._answer(UNIT)

    async def _open_once(
        self, config: RestConfig, request: KubeRequest
    ) -> KubeResponse | aiohttp.ClientResponse:
        self._answer(UNIT)
        return KubeResponse(410, b"")

    def _answer(self, found: object) -> bytes:
        if self.mood:
            raise self.mood
        return msgspec.json.encode(found)


class GuardedGatewayFixture:
    """Gateway on a moody REST client, with a virtual clock."""

    def __init__(self) -> None:
        self.clock = AutoAdvanceClock()
        self.behind = MoodyRestClient(self.clock)
        self.guarded = RestKubeClient(self.behind)

    async def read(self) -> GPUUnit:
        return await self.guarded.get(GPU_UNITS, "here", "one")

    async def fail(self, times: int, error: kube_errors.KubeError) -> None:
        self.behind.mood = error
        for _ in range(times):
            with pytest.raises(type(error)):
                await self.read()

    async def lose(self) -> None:
        await self.fail(MAX_FAILURES, DOWN)


@pytest.fixture
async def guarded() -> GuardedGatewayFixture:
    return GuardedGatewayFixture()


async def test_a_silent_server_is_no_longer_asked(guarded: GuardedGatewayFixture) -> None:
    await guarded.lose()
    with pytest.raises(kube_errors.NotSentError) as failure:
        await guarded.read()
    assert guarded.behind.reads == MAX_FAILURES
    assert str(failure.value) == f"{DOWN} Requests are paused for 5 s."
    assert failure.value.retry_after == 5


async def test_timeouts_count_as_failures_of_the_circuit_breaker(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.fail(MAX_FAILURES, kube_errors.RequestTimeoutError("slow."))
    with pytest.raises(kube_errors.NotSentError, match=r"^slow\. Requests are paused"):
        await guarded.read()


@pytest.mark.parametrize(
    "error", [kube_errors.NotFoundError("gone"), kube_errors.ThrottledError("busy")]
)
async def test_a_server_that_refuses_is_there(
    guarded: GuardedGatewayFixture, error: kube_errors.KubeError
) -> None:
    await guarded.fail(MAX_FAILURES - 1, DOWN)
    await guarded.fail(10, error)
    assert guarded.behind.reads == MAX_FAILURES - 1 + 10
    await guarded.fail(MAX_FAILURES - 1, DOWN)


async def test_one_successful_probe_closes_the_circuit_breaker(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.lose()
    guarded.behind.mood = None
    guarded.clock.advance(OPEN_SECONDS)
    assert await guarded.read() == UNIT
    assert await guarded.read() == UNIT


async def test_other_calls_fail_at_once_while_the_probe_is_in_flight(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.lose()
    guarded.behind.mood = None
    guarded.clock.advance(OPEN_SECONDS)
    answer = asyncio.Event()

    async def wait() -> None:
        await answer.wait()

    guarded.behind.hold = wait
    async with asyncio.TaskGroup() as group:
        trial = group.create_task(guarded.read())
        await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(kube_errors.NotSentError):
                await guarded.read()
        answer.set()
    assert trial.result() == UNIT
    assert guarded.behind.reads == MAX_FAILURES + 1


async def test_a_cancelled_probe_allows_the_next_probe(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.lose()
    guarded.clock.advance(OPEN_SECONDS)

    async def give_up() -> None:
        raise asyncio.CancelledError

    guarded.behind.hold = give_up
    with pytest.raises(asyncio.CancelledError):
        await guarded.read()
    guarded.behind.hold, guarded.behind.mood = None, None
    assert await guarded.read() == UNIT


async def test_an_invalid_name_does_not_count_for_the_circuit_breaker(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.lose()
    guarded.clock.advance(OPEN_SECONDS)
    with pytest.raises(InvalidNameError):
        await guarded.guarded.get(GPU_UNITS, "here", "no/name")
    assert guarded.behind.reads == MAX_FAILURES
    await guarded.fail(1, DOWN)
    with pytest.raises(kube_errors.NotSentError):
        await guarded.read()


async def test_a_version_call_is_never_blocked_and_allows_a_probe_at_once(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.lose()
    with pytest.raises(kube_errors.UnreachableError, match=r"refused\.$"):
        await guarded.guarded.server_version()
    guarded.behind.mood = None
    with pytest.raises(kube_errors.NotSentError):
        await guarded.read()
    assert await guarded.guarded.server_version() == V1_34
    assert await guarded.read() == UNIT


async def test_a_version_alone_does_not_end_the_outage(guarded: GuardedGatewayFixture) -> None:
    """Check that /version is not enough: a server without its storage still answers /version."""
    await guarded.lose()
    guarded.behind.mood = None
    await guarded.guarded.server_version()
    await guarded.fail(1, DOWN)
    with pytest.raises(kube_errors.NotSentError):
        await guarded.read()


async def test_a_body_that_cannot_be_encoded_does_not_count_for_the_circuit_breaker(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.lose()
    guarded.clock.advance(OPEN_SECONDS)
    with pytest.raises(UnencodableBodyError):
        await guarded.guarded.create(GPU_UNITS, "here", {"metadata": {"name": "\ud800"}})
    assert guarded.behind.reads == MAX_FAILURES
    await guarded.fail(1, DOWN)


async def test_a_watch_is_not_begun_during_an_outage(guarded: GuardedGatewayFixture) -> None:
    await guarded.lose()
    with pytest.raises(kube_errors.NotSentError):
        await anext(guarded.guarded.watch(GPU_UNITS, "here", "one", ""))


async def test_a_failed_watch_does_not_count_for_the_circuit_breaker(
    guarded: GuardedGatewayFixture,
) -> None:
    await guarded.fail(MAX_FAILURES - 1, DOWN)
    for _ in range(MAX_FAILURES):
        with pytest.raises(kube_errors.UnreachableError, match=r"refused\.$"):
            await anext(guarded.guarded.watch(GPU_UNITS, "here", "one", ""))
    await guarded.fail(1, DOWN)
    assert guarded.behind.reads == MAX_FAILURES


async def test_a_watch_is_not_the_probe(guarded: GuardedGatewayFixture) -> None:
    await guarded.lose()
    guarded.clock.advance(OPEN_SECONDS)
    with pytest.raises(kube_errors.NotSentError):
        await anext(guarded.guarded.watch(GPU_UNITS, "here", "one", ""))
    guarded.behind.mood = None
    assert await guarded.read() == UNIT


async def test_without_a_cluster_every_call_fails_with_the_reason() -> None:
    gateway = RestKubeClient(NoCluster("no cluster is configured."))
    assert gateway.server == "no cluster"
    calls: tuple[Awaitable[object], ...] = (
        gateway.server_version(),
        gateway.list_nodes(),
        gateway.list_storage_classes(),
        gateway.get(GPU_UNITS, "here", "one"),
        gateway.list(GPU_UNITS, "here", ListOptions()),
        gateway.create(GPU_UNITS, "here", {}),
        gateway.patch(GPU_UNITS, "here", "one", {}),
        gateway.delete(GPU_UNITS, "here", "one"),
        anext(gateway.watch(GPU_UNITS, "here", "one", "")),
    )
    for call in calls:
        with pytest.raises(kube_errors.NotSentError, match=r"^no cluster is configured\.$"):
            await call
