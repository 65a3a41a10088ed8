"""The API and the controller while the API server is gone, hangs, and comes back."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from hack.local import product_processes
from tests.support.cluster.product_processes import ProductProcess, run_product_process
from tests.support.http.get import get
from tests.support.wait.eventually import eventually

# The product must respond at once, and have correct data soon after the cluster is back.
RESPONSE_SECONDS = 1.0
# A timeout for a busy machine.
RECOVERY_SECONDS = 30.0


async def stop(plane: ControlPlane) -> None:
    await plane.kube_apiserver.kill()


async def start(plane: ControlPlane) -> None:
    plane.kube_apiserver.start()
    await plane.wait_apiserver_ready()


async def pause(plane: ControlPlane) -> None:
    await plane.kube_apiserver.pause()


async def resume(plane: ControlPlane) -> None:
    plane.kube_apiserver.resume()


Step = Callable[[ControlPlane], Awaitable[None]]
OUTAGES = pytest.mark.parametrize(
    ("start_outage", "end_outage"), [(stop, start), (pause, resume)], ids=["stopped", "hanging"]
)


@pytest.fixture
async def api(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> AsyncIterator[ProductProcess]:
    kubeconfig = str(installed_control_plane.layout.kubeconfig("runtime-api"))
    async with run_product_process(
        product_processes.RUNTIME_API, tmp_path, {"kubeconfig": kubeconfig}
    ) as product:
        yield product


@pytest.fixture
async def controller(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> AsyncIterator[ProductProcess]:
    """Run a controller without leader election.

    On a slow machine an outage may outlast the lease, and a controller that loses its lease has to
    end.
    """
    kubeconfig = str(installed_control_plane.layout.kubeconfig("controller"))
    settings = {"kubeconfig": kubeconfig, "leaderElection": {"enabled": False}}
    async with run_product_process(product_processes.CONTROLLER, tmp_path, settings) as product:
        yield product


async def get_at_once(url: str) -> tuple[int, Any]:
    """Return a response that arrives within the required time.

    A slow machine may need several tries; a request that waits for Kubernetes is late each time.
    """
    return await eventually(
        lambda: get(url, timeout_seconds=RESPONSE_SECONDS), lambda _: True, tolerate=TimeoutError
    )


async def health(api: ProductProcess) -> dict[str, Any]:
    """Return the health response.

    It must arrive within the required time in any state of Kubernetes.
    """
    status, body = await get_at_once(f"{api.url}/api/v1/health")
    assert status == 200
    data: dict[str, Any] = body["data"]
    return data


@OUTAGES
async def test_health_responds_during_an_outage_and_is_correct_after_it(
    installed_control_plane: ControlPlane, api: ProductProcess, start_outage: Step, end_outage: Step
) -> None:
    before = await health(api)
    assert (before["kubernetesConnected"], before["nodeCount"]) == (True, 4)
    await start_outage(installed_control_plane)
    try:
        during = await eventually(lambda: health(api), lambda seen: not seen["kubernetesConnected"])
        assert installed_control_plane.layout.server_url in during["kubeError"]
        assert during["nodeCount"] == 4
        status, ready = await get_at_once(f"{api.url}/readyz")
        assert (status, "Kubernetes" in ready["data"]["reasons"][0]) == (503, True)
        assert (await get_at_once(f"{api.url}/healthz"))[0] == 200
    finally:
        await end_outage(installed_control_plane)
    after = await eventually(
        lambda: health(api),
        lambda seen: seen["kubernetesConnected"],
        timeout_seconds=RECOVERY_SECONDS,
    )
    assert "kubeError" not in after
    await eventually(lambda: get(f"{api.url}/readyz"), lambda response: response[0] == 200)


@OUTAGES
async def test_the_controller_is_alive_but_not_ready_during_an_outage(
    installed_control_plane: ControlPlane,
    controller: ProductProcess,
    start_outage: Step,
    end_outage: Step,
) -> None:
    async def readiness() -> int:
        return (await get_at_once(f"{controller.url}/readyz"))[0]

    assert await readiness() == 200
    await start_outage(installed_control_plane)
    try:
        await eventually(readiness, lambda status: status == 503)
        assert (await get_at_once(f"{controller.url}/healthz"))[0] == 200
    finally:
        await end_outage(installed_control_plane)
    await eventually(readiness, lambda status: status == 200, timeout_seconds=RECOVERY_SECONDS)
