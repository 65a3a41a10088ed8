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
UNIT = {"operationID": "o", "name": "u", "specName": "s", "image": "example/app:1"}
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
    ("POST", UNITS, UNIT),
    ("GET", UNITS, None),
    ("GET", f"{UNITS}/x", None),
    ("GET", f"{UNITS}/x?wait=Ready", None),
    ("PUT", f"{UNITS}/x", {"image": "example/app:2"}),
    ("DELETE", f"{UNITS}/x", None),
]


@pytest.fixture
async def proxy(installed_control_plane: ControlPlane) -> AsyncIterator[TCPProxy]:
    port = installed_control_plane.layout.ports["kube-apiserver"]
    async with TCPProxy("127.0.0.1", port).serve() as proxy:
        yield proxy


@pytest.fixture
async def api(
    installation: IsolatedInstallation, proxy: TCPProxy, tmp_path: Path
) -> AsyncIterator[ApiClient]:
    """Run one replica whose connection to Kubernetes the test can cut."""
    path = kubeconfig_through_proxy(proxy, installation, tmp_path)
    async with run_api(installation, tmp_path, kubeconfig=str(path)) as product:
        yield ApiClient(product.url)


async def request_all_routes(api: ApiClient) -> list[ApiResponse]:
    """Request all routes at once; return their responses."""
    return await asyncio.gather(*(api.request(*request) for request in REQUESTS))


async def health_of_an_outage(api: ApiClient) -> ApiResponse:
    """Return the health response of an outage.

    It is due within one second; a slow machine may need another second.
    """
    response = await eventually(
        lambda: ApiClient(api.url, seconds=1.0).get(HEALTH),
        lambda response: not response.data["kubernetesConnected"],
        tolerate=TimeoutError,
    )
    assert response.status == 200
    return response


async def test_without_kubernetes_every_route_responds_with_retry_after(
    api: ApiClient, proxy: TCPProxy
) -> None:
    proxy.refuse()
    proxy.cut()
    responses = await request_all_routes(api)

    assert {response.status_and_code for response in responses} == {(503, "service_unavailable")}
    assert all(1 <= int(response.headers["Retry-After"]) <= 5 for response in responses)
    health = await health_of_an_outage(api)
    assert str(proxy.port) in health.data["kubeError"]


async def test_while_kubernetes_hangs_routes_respond_in_time_and_health_at_once(
    api: ApiClient, proxy: TCPProxy
) -> None:
    proxy.stall()
    async with asyncio.TaskGroup() as group:
        requests = group.create_task(request_all_routes(api))
        await health_of_an_outage(api)

    errors = {response.status_and_code for response in requests.result()}
    assert errors <= {(503, "service_unavailable"), (504, "timeout")}
    await eventually(  # occasionally one request is the probe whether Kubernetes responds again
        lambda: api.get(UNITS),
        lambda response: response.status_and_code == (503, "service_unavailable"),
    )


async def test_when_kubernetes_is_back_requests_succeed_again(
    api: ApiClient, proxy: TCPProxy
) -> None:
    proxy.refuse()
    proxy.cut()
    await request_all_routes(api)
    proxy.clear_faults()

    response = await eventually(lambda: api.get(UNITS), lambda response: response.status == 200)
    assert response.data == []
    seed = {**SEED, "operationID": new_name("seed")}
    assert (await api.post(STOCK, seed)).status == 202


async def test_an_api_with_kube_mode_off_reports_that_kubernetes_is_off(tmp_path: Path) -> None:
    async with run_product_process(
        product_processes.RUNTIME_API, tmp_path, {"kubeMode": "off"}
    ) as product:
        api = ApiClient(product.url)
        responses = await request_all_routes(api)
        health = await health_of_an_outage(api)

    assert {response.status_and_code for response in responses} == {(503, "service_unavailable")}
    assert all("kubeMode: off" in response.error["message"] for response in responses)
    assert all("Retry-After" in response.headers for response in responses)
    assert (health.data["kubernetesConnected"], "nodeCount" in health.data) == (False, False)
