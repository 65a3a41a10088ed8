"""The runtime API's gateway while connections break, hang, and are not to be had."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from secrets import token_hex

import pytest

from apiserver.circuit_breaker import MOST_FAILURES, OPEN_SECONDS, Breaker
from apiserver.kube import errors as kube_errors
from apiserver.kube.circuit_breaker_client import GuardedGateway
from apiserver.kube.client import KubeGateway
from apiserver.kube.port import Selection
from apiserver.kube.resources import GPU_UNITS
from hack.cluster.control_plane import ControlPlane
from tests.support.clocks.virtual_clock import VirtualClock
from tests.support.cluster.isolated_installation import Site, a_unit
from tests.support.cluster.kube_gateway import gateway_of
from tests.support.faults.tcp_proxy import TCPProxy
from tests.support.wait.eventually import eventually

# For a machine on which many other things run.
PATIENCE = 60.0


@pytest.fixture
async def proxy(installed: ControlPlane) -> AsyncIterator[TCPProxy]:
    port = installed.layout.ports["kube-apiserver"]
    async with TCPProxy("127.0.0.1", port).serving() as made:
        yield made


@pytest.fixture
async def gateway(site: Site, proxy: TCPProxy) -> AsyncIterator[KubeGateway]:
    async with gateway_of(site.api_kubeconfig, through=proxy) as made:
        yield made


async def count(gateway: KubeGateway | GuardedGateway, site: Site) -> int:
    return len((await gateway.list(GPU_UNITS, site.namespaces.stock, Selection())).items)


async def fill(site: Site, units: int) -> None:
    here = site.namespaces.stock
    bodies = [a_unit(f"unit-{number}", image=token_hex(5000)) for number in range(units)]
    await asyncio.gather(*(site.create("gpuunits", body, namespace=here) for body in bodies))


async def test_a_connection_that_is_cut_in_the_middle_of_an_answer_is_unreachable(
    gateway: KubeGateway, proxy: TCPProxy, site: Site
) -> None:
    await fill(site, 80)
    assert await count(gateway, site) == 80
    for chunks in range(1, 6):
        proxy.cut_after(chunks)
        with pytest.raises(kube_errors.ClusterUnreachableError):
            await count(gateway, site)
    proxy.heal()
    assert await count(gateway, site) == 80


async def test_a_write_whose_connection_is_cut_may_have_happened(
    gateway: KubeGateway, proxy: TCPProxy, site: Site
) -> None:
    here = site.namespaces.stock
    await count(gateway, site)
    proxy.mute()
    async with asyncio.TaskGroup() as group:
        write = group.create_task(failing_write(gateway, here))
        await eventually(lambda: site.list("gpuunits", namespace=here))
        proxy.cut()
    assert write.result().is_uncertain


async def failing_write(
    gateway: KubeGateway, namespace: str
) -> kube_errors.ClusterUnreachableError:
    with pytest.raises(kube_errors.ClusterUnreachableError) as failure:
        await gateway.create(GPU_UNITS, namespace, a_unit("one"))
    return failure.value


async def test_a_server_that_hangs_is_given_five_seconds(
    gateway: KubeGateway, proxy: TCPProxy, site: Site
) -> None:
    await count(gateway, site)
    proxy.stall()
    started = time.monotonic()
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(kube_errors.ClusterTimeoutError, match="did not answer within 5 s"):
            await count(gateway, site)
    assert time.monotonic() - started > 4.9
    proxy.heal()
    assert await count(gateway, site) == 0


async def test_a_watch_that_is_cut_is_unreachable(
    gateway: KubeGateway, proxy: TCPProxy, site: Site
) -> None:
    await site.create("gpuunits", a_unit("one"), namespace=site.namespaces.stock)
    async with aclosing(gateway.watch(GPU_UNITS, site.namespaces.stock, "one", "")) as versions:
        assert await anext(versions) is not None
        proxy.cut()
        with pytest.raises(kube_errors.ClusterUnreachableError):
            await anext(versions)


async def test_an_outage_is_noticed_after_five_failures_and_its_end_by_one_trial(
    gateway: KubeGateway, proxy: TCPProxy, site: Site
) -> None:
    clock = VirtualClock()
    guarded = GuardedGateway(gateway, Breaker(clock))
    assert await count(guarded, site) == 0
    proxy.refuse()
    proxy.cut()
    for _ in range(MOST_FAILURES):
        with pytest.raises(kube_errors.ClusterUnreachableError) as failure:
            await count(guarded, site)
        assert type(failure.value) is kube_errors.ClusterUnreachableError
    proxy.heal()
    asked = proxy.accepted
    for seconds in (0.0, OPEN_SECONDS - 0.1):
        await clock.advance(seconds)
        with pytest.raises(kube_errors.ClusterNotAskedError):
            await count(guarded, site)
    assert proxy.accepted == asked
    await clock.advance(0.2)
    assert await count(guarded, site) == 0
    assert proxy.accepted == asked + 1


async def test_a_hanging_server_costs_five_seconds_five_times_and_then_nothing(
    gateway: KubeGateway, proxy: TCPProxy, site: Site
) -> None:
    guarded = GuardedGateway(gateway, Breaker(VirtualClock()))
    await count(guarded, site)
    proxy.stall()
    calls = [count(guarded, site) for _ in range(MOST_FAILURES)]
    failures = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(failure) for failure in failures} == {kube_errors.ClusterTimeoutError}
    sent = proxy.accepted
    with pytest.raises(kube_errors.ClusterNotAskedError):
        await count(guarded, site)
    assert proxy.accepted == sent
    proxy.heal()
    await guarded.version()
    assert await count(guarded, site) == 0
