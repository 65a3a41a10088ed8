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

# The product's promise: an answer at once, and correct data soon after the cluster is back.
ANSWER_SECONDS = 1.0
# A timeout for a busy machine.
TRUTH_SECONDS = 30.0


async def stop(plane: ControlPlane) -> None:
    await plane.kube_apiserver.kill()


async def start(plane: ControlPlane) -> None:
    plane.kube_apiserver.start()
    await plane.wait_apiserver_ready()


async def pause(plane: ControlPlane) -> None:
    plane.kube_apiserver.pause()


async def resume(plane: ControlPlane) -> None:
    plane.kube_apiserver.resume()


Step = Callable[[ControlPlane], Awaitable[None]]
OUTAGES = pytest.mark.parametrize(
    ("lose", "bring_back"), [(stop, start), (pause, resume)], ids=["stopped", "hanging"]
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
    changes = {"kubeconfig": kubeconfig, "leaderElection": {"enabled": False}}
    async with run_product_process(product_processes.CONTROLLER, tmp_path, changes) as product:
        yield product


async def at_once(url: str) -> tuple[int, Any]:
    """Return an answer that arrives within the promised time.

    A slow machine may need several tries; a request that waits for Kubernetes is late each time.
    """
    return await eventually(
        lambda: get(url, timeout_seconds=ANSWER_SECONDS), lambda _: True, tolerate=TimeoutError
    )


async def health(api: ProductProcess) -> dict[str, Any]:
    """Return the health answer.

    It must arrive within the promised time in any state of Kubernetes.
    """
    status, body = await at_once(f"{api.url}/api/v1/health")
    assert status == 200
    data: dict[str, Any] = body["data"]
    return data


@OUTAGES
async def test_health_answers_during_an_outage_and_is_correct_after_it(
    installed_control_plane: ControlPlane, api: ProductProcess, lose: Step, bring_back: Step
) -> None:
    known = await health(api)
    assert (known["kubernetesConnected"], known["nodeCount"]) == (True, 4)
    await lose(installed_control_plane)
    try:
        lost = await eventually(lambda: health(api), lambda seen: not seen["kubernetesConnected"])
        assert installed_control_plane.layout.server_url in lost["kubeError"]
        assert lost["nodeCount"] == 4
        status, ready = await at_once(f"{api.url}/readyz")
        assert (status, "Kubernetes" in ready["data"]["reasons"][0]) == (503, True)
        assert (await at_once(f"{api.url}/healthz"))[0] == 200
    finally:
        await bring_back(installed_control_plane)
    back = await eventually(
        lambda: health(api), lambda seen: seen["kubernetesConnected"], timeout_seconds=TRUTH_SECONDS
    )
    assert "kubeError" not in back
    await eventually(lambda: get(f"{api.url}/readyz"), lambda answer: answer[0] == 200)


@OUTAGES
async def test_the_controller_is_alive_but_not_ready_while_the_cluster_is_gone(
    installed_control_plane: ControlPlane, controller: ProductProcess, lose: Step, bring_back: Step
) -> None:
    async def readiness() -> int:
        return (await at_once(f"{controller.url}/readyz"))[0]

    assert await readiness() == 200
    await lose(installed_control_plane)
    try:
        await eventually(readiness, lambda status: status == 503)
        assert (await at_once(f"{controller.url}/healthz"))[0] == 200
    finally:
        await bring_back(installed_control_plane)
    await eventually(readiness, lambda status: status == 200, timeout_seconds=TRUTH_SECONDS)
