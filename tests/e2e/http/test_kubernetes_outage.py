"""The API while Kubernetes is unreachable, hangs, or is not configured."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from apiserver.http.paths import JOBS, POOLS, SPECS, STOCK, UNITS
from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from tests.support.cluster.isolated_installation import IsolatedInstallation
from tests.support.cluster.product_processes import run_product_process
from tests.support.cluster.running_product import new_name, run_api
from tests.support.faults.tcp_proxy import TCPProxy, kubeconfig_through_proxy
from tests.support.http.api_client import ApiClient, ApiResponse
from tests.support.wait.eventually import eventually

HEALTH = "/api/v1/health"
SEED = {"operationID": "o", "specName": "s", "memory": "1Gi", "replicas": 1}
ORDER = {"operationID": "o", "name": "u", "specName": "s", "image": "example/app:1"}
POOL = {"operationID": "o", "name": "p", "specName": "s", "memory": "1Gi", "replicas": 0}
REQUESTS = [
    ("POST", STOCK, SEED),
    ("GET", STOCK, None),
    ("DELETE", f"{STOCK}/x", None),
    ("GET", SPECS, None),
    ("GET", JOBS, None),
    ("GET", f"{JOBS}/x", None),
    ("POST", POOLS, POOL),
    ("GET", POOLS, None),
    ("GET", f"{POOLS}/x", None),
    ("PUT", f"{POOLS}/x", {"memory": "1Gi"}),
    ("DELETE", f"{POOLS}/x", None),
    ("POST", UNITS, ORDER),
    ("GET", UNITS, None),
    ("GET", f"{UNITS}/x", None),
    ("GET", f"{UNITS}/x?wait=Ready", None),
    ("PUT", f"{UNITS}/x", {"image": "example/app:2"}),
    ("DELETE", f"{UNITS}/x", None),
]


@pytest.fixture
async def proxy(installed_control_plane: ControlPlane) -> AsyncIterator[TCPProxy]:
    port = installed_control_plane.layout.ports["kube-apiserver"]
    async with TCPProxy("127.0.0.1", port).serve() as made:
        yield made


@pytest.fixture
async def alone(
    installation: IsolatedInstallation, proxy: TCPProxy, tmp_path: Path
) -> AsyncIterator[ApiClient]:
    """Run one replica whose connection to Kubernetes the test can cut."""
    path = kubeconfig_through_proxy(proxy, installation, tmp_path)
    async with run_api(installation, tmp_path, kubeconfig=str(path)) as product:
        yield ApiClient(product.url)


async def everything(api: ApiClient) -> list[ApiResponse]:
    """Request all routes at once; return their answers."""
    return await asyncio.gather(*(api.request(*request) for request in REQUESTS))


async def health_of_an_outage(api: ApiClient) -> ApiResponse:
    """Return the health answer of an outage.

    It is due within one second; a slow machine may need another second.
    """
    answer = await eventually(
        lambda: ApiClient(api.url, seconds=1.0).get(HEALTH),
        lambda seen: not seen.data["kubernetesConnected"],
        tolerate=TimeoutError,
    )
    assert answer.status == 200
    return answer


async def test_without_kubernetes_every_route_says_when_to_try_again(
    alone: ApiClient, proxy: TCPProxy
) -> None:
    proxy.refuse()
    proxy.cut()
    answers = await everything(alone)

    assert {answer.status_and_code for answer in answers} == {(503, "service_unavailable")}
    assert all(1 <= int(answer.headers["Retry-After"]) <= 5 for answer in answers)
    told = await health_of_an_outage(alone)
    assert str(proxy.port) in told.data["kubeError"]


async def test_while_kubernetes_hangs_routes_answer_in_time_and_health_at_once(
    alone: ApiClient, proxy: TCPProxy
) -> None:
    proxy.stall()
    async with asyncio.TaskGroup() as group:
        asked = group.create_task(everything(alone))
        await health_of_an_outage(alone)

    refusals = {answer.status_and_code for answer in asked.result()}
    assert refusals <= {(503, "service_unavailable"), (504, "timeout")}
    await eventually(  # occasionally one request probes whether Kubernetes answers again
        lambda: alone.get(UNITS),
        lambda seen: seen.status_and_code == (503, "service_unavailable"),
    )


async def test_when_kubernetes_is_back_requests_succeed_again(
    alone: ApiClient, proxy: TCPProxy
) -> None:
    proxy.refuse()
    proxy.cut()
    await everything(alone)
    proxy.clear_faults()

    answer = await eventually(lambda: alone.get(UNITS), lambda seen: seen.status == 200)
    assert answer.data == []
    seed = {**SEED, "operationID": new_name("seed")}
    assert (await alone.post(STOCK, seed)).status == 202


async def test_an_api_with_kube_mode_off_reports_that_kubernetes_is_off(tmp_path: Path) -> None:
    async with run_product_process(
        product_processes.RUNTIME_API, tmp_path, {"kubeMode": "off"}
    ) as product:
        api = ApiClient(product.url)
        answers = await everything(api)
        health = await health_of_an_outage(api)

    assert {answer.status_and_code for answer in answers} == {(503, "service_unavailable")}
    assert all("kubeMode: off" in answer.error["message"] for answer in answers)
    assert all("Retry-After" in answer.headers for answer in answers)
    assert (health.data["kubernetesConnected"], "nodeCount" in health.data) == (False, False)
