"""The API's Kubernetes gateway while connections break, hang, and are refused."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from secrets import token_hex

import pytest

from apiserver.circuit_breaker import MAX_FAILURES, OPEN_SECONDS, CircuitBreaker
from apiserver.kube import errors as kube_errors
from apiserver.kube.client import RestKubeClient
from apiserver.kube.port import ListOptions
from apiserver.kube.resources import GPU_UNITS
from hack.cluster.control_plane import ControlPlane
from tests.support.clocks.virtual_clock import VirtualClock
from tests.support.cluster.isolated_installation import IsolatedInstallation, unit_manifest
from tests.support.cluster.kube_gateway import open_gateway
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.wait.eventually import eventually

# A timeout for a busy machine.
TIMEOUT_SECONDS = 60.0


@pytest.fixture
async def proxy(installed_control_plane: ControlPlane) -> AsyncIterator[TCPProxy]:
    port = installed_control_plane.layout.ports["kube-apiserver"]
    async with TCPProxy("127.0.0.1", port).serve() as proxy:
        yield proxy


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def guarded_gateway(
    installation: IsolatedInstallation, proxy: TCPProxy, clock: VirtualClock
) -> AsyncIterator[RestKubeClient]:
    breaker = CircuitBreaker(clock)
    async with open_gateway(
        installation.api_kubeconfig, port=proxy.port, breaker=breaker
    ) as gateway:
        yield gateway


@pytest.fixture
async def gateway(
    installation: IsolatedInstallation, proxy: TCPProxy
) -> AsyncIterator[RestKubeClient]:
    async with open_gateway(installation.api_kubeconfig, port=proxy.port) as gateway:
        yield gateway


async def count_units(gateway: RestKubeClient, installation: IsolatedInstallation) -> int:
    return len((await gateway.list(GPU_UNITS, installation.namespaces.stock, ListOptions())).items)


async def create_units(installation: IsolatedInstallation, units: int) -> None:
    namespace = installation.namespaces.stock
    bodies = [unit_manifest(f"unit-{number}", image=token_hex(5000)) for number in range(units)]
    await asyncio.gather(
        *(installation.create("gpuunits", body, namespace=namespace) for body in bodies)
    )


async def test_a_connection_that_is_cut_in_a_response_is_unreachable(
    gateway: RestKubeClient, proxy: TCPProxy, installation: IsolatedInstallation
) -> None:
    await create_units(installation, 80)
    assert await count_units(gateway, installation) == 80
    for chunks in range(1, 6):
        proxy.cut_after(chunks)
        with pytest.raises(kube_errors.UnreachableError):
            await count_units(gateway, installation)
    proxy.clear_faults()
    assert await count_units(gateway, installation) == 80


async def test_a_write_whose_connection_is_cut_is_uncertain(
    gateway: RestKubeClient, proxy: TCPProxy, installation: IsolatedInstallation
) -> None:
    namespace = installation.namespaces.stock
    await count_units(gateway, installation)
    proxy.mute_server()
    async with asyncio.TaskGroup() as group:
        write_task = group.create_task(failing_write(gateway, namespace))
        await eventually(lambda: installation.list("gpuunits", namespace=namespace))
        proxy.cut()
    assert write_task.result().is_uncertain


async def failing_write(gateway: RestKubeClient, namespace: str) -> kube_errors.UnreachableError:
    with pytest.raises(kube_errors.UnreachableError) as failure:
        await gateway.create(GPU_UNITS, namespace, unit_manifest("one"))
    return failure.value


async def test_a_call_to_a_hanging_server_times_out_after_five_seconds(
    gateway: RestKubeClient, proxy: TCPProxy, installation: IsolatedInstallation
) -> None:
    await count_units(gateway, installation)
    proxy.stall()
    started = time.monotonic()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        with pytest.raises(kube_errors.RequestTimeoutError, match="did not respond within 5 s"):
            await count_units(gateway, installation)
    assert time.monotonic() - started > 4.9
    proxy.clear_faults()
    assert await count_units(gateway, installation) == 0


async def test_a_watch_that_is_cut_is_unreachable(
    gateway: RestKubeClient, proxy: TCPProxy, installation: IsolatedInstallation
) -> None:
    await installation.create(
        "gpuunits", unit_manifest("one"), namespace=installation.namespaces.stock
    )
    async with aclosing(
        gateway.watch(GPU_UNITS, installation.namespaces.stock, "one", "")
    ) as versions:
        assert await anext(versions) is not None
        proxy.cut()
        with pytest.raises(kube_errors.UnreachableError):
            await anext(versions)


async def test_the_circuit_breaker_opens_after_five_failures_and_closes_after_one_probe(
    guarded_gateway: RestKubeClient,
    clock: VirtualClock,
    proxy: TCPProxy,
    installation: IsolatedInstallation,
) -> None:
    assert await count_units(guarded_gateway, installation) == 0
    proxy.refuse()
    proxy.cut()
    for _ in range(MAX_FAILURES):
        with pytest.raises(kube_errors.UnreachableError) as failure:
            await count_units(guarded_gateway, installation)
        assert type(failure.value) is kube_errors.UnreachableError
    proxy.clear_faults()
    accepted_before = proxy.accepted_count
    for seconds in (0.0, OPEN_SECONDS - 0.1):
        await clock.advance(seconds)
        with pytest.raises(kube_errors.NotSentError):
            await count_units(guarded_gateway, installation)
    assert proxy.accepted_count == accepted_before
    await clock.advance(0.2)
    assert await count_units(guarded_gateway, installation) == 0
    assert proxy.accepted_count == accepted_before + 1


async def test_calls_to_a_hanging_server_fail_at_once_after_five_timeouts(
    guarded_gateway: RestKubeClient, proxy: TCPProxy, installation: IsolatedInstallation
) -> None:
    await count_units(guarded_gateway, installation)
    proxy.stall()
    calls = [count_units(guarded_gateway, installation) for _ in range(MAX_FAILURES)]
    failures = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(failure) for failure in failures} == {kube_errors.RequestTimeoutError}
    accepted_before = proxy.accepted_count
    with pytest.raises(kube_errors.NotSentError):
        await count_units(guarded_gateway, installation)
    assert proxy.accepted_count == accepted_before
    proxy.clear_faults()
    await guarded_gateway.server_version()
    assert await count_units(guarded_gateway, installation) == 0
