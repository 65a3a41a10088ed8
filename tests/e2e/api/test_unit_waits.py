"""Long polling of a unit over HTTP: the response is sent when there is news."""

import asyncio
from typing import Any

import pytest

from apiserver.http.paths import UNITS
from tests.support.builders.pods import patch_pod_labels
from tests.support.builders.simulated_units import unit_pods
from tests.support.cluster.running_product import RunningProduct
from tests.support.http.api_client import DEFAULT_TIMEOUT_SECONDS, ApiClient
from tests.support.wait.eventually import eventually

# Longer than any caller in these tests waits: a response that arrives was sent before this limit.
MAX_WAIT_SECONDS = 300
assert MAX_WAIT_SECONDS > DEFAULT_TIMEOUT_SECONDS


def simulation_labels(mode: str, **details: str) -> dict[str, str]:
    """Return labels that tell a simulated node what happens to the pod."""
    return {"sim.local/mode": mode, **{f"sim.local/{key}": value for key, value in details.items()}}


async def create_unit(product: RunningProduct, labels: dict[str, str]) -> str:
    name: str = (await product.create_unit(labels=labels)).data["name"]
    return name


async def wait_for_unit(
    api: ApiClient, name: str, seconds: int = MAX_WAIT_SECONDS
) -> dict[str, Any]:
    """Return the unit from the response after waiting for it."""
    response = await api.get(f"{UNITS}/{name}?wait=Ready&timeoutSeconds={seconds}")
    assert response.status == 200, response.body
    unit: dict[str, Any] = response.data
    return unit


async def test_a_waiting_get_returns_when_the_unit_is_ready(product: RunningProduct) -> None:
    name = await create_unit(product, simulation_labels("slow", delay="1h"))
    (pod,) = await eventually(lambda: unit_pods(product.installation, name))
    async with asyncio.TaskGroup() as group:
        wait_task = group.create_task(wait_for_unit(product.replica, name))
        await eventually(lambda: is_waited_for(product.replica))
        assert not wait_task.done()
        await patch_pod_labels(
            product.installation.admin, pod, simulation_labels("slow", delay="1ms")
        )

    assert wait_task.result()["phase"] == "Ready"


async def test_a_waiting_get_returns_when_the_unit_has_failed(
    product: RunningProduct,
) -> None:
    name = await create_unit(product, simulation_labels("image-pull"))
    unit = await wait_for_unit(product.api, name)

    assert (unit["phase"], unit["reason"]) == ("Failed", "PodStartupFailed")
    assert "example/app:1" in unit["message"]


async def test_a_waiting_get_returns_at_the_time_limit(
    product: RunningProduct,
) -> None:
    name = await create_unit(product, simulation_labels("never-ready"))
    loop = asyncio.get_running_loop()
    started_at = loop.time()
    unit = await wait_for_unit(product.api, name, 1)

    assert unit.get("phase", "Progressing") == "Progressing"
    assert loop.time() - started_at >= 1.0


async def test_a_waiting_get_of_a_ready_unit_returns_at_once(product: RunningProduct) -> None:
    name = await product.create_ready_unit()

    assert (await wait_for_unit(product.api, name))["phase"] == "Ready"


async def test_a_waiting_get_returns_not_found_when_the_unit_is_deleted(
    product: RunningProduct,
) -> None:
    name = await create_unit(product, simulation_labels("never-ready"))
    await eventually(
        lambda: product.api.get(f"{UNITS}/{name}"), lambda response: "phase" in response.data
    )
    async with asyncio.TaskGroup() as group:
        wait_task = group.create_task(product.api.get(f"{UNITS}/{name}?wait=Ready"))
        await eventually(lambda: is_waited_for(product.api))
        await product.replica.delete(f"{UNITS}/{name}")

    assert wait_task.result().status_and_code == (404, "not_found")


async def is_waited_for(api: ApiClient) -> bool:
    """Return whether a request is in flight other than the one that asks."""
    text = (await api.text("/metrics")).splitlines()
    (line,) = [line for line in text if line.startswith("gpuruntime_http_in_flight")]
    return float(line.split()[-1]) > 1


async def test_a_waiting_get_after_a_change_waits_for_the_rollout(product: RunningProduct) -> None:
    name = await product.create_ready_unit()
    await product.api.put(f"{UNITS}/{name}", {"labels": simulation_labels("slow", delay="1s")})
    await product.api.put(f"{UNITS}/{name}", {"image": "example/app:2"})
    unit = await wait_for_unit(product.api, name)

    assert (unit["image"], unit["observedGeneration"]) == ("example/app:2", 2)
    assert unit["phase"] == "Ready"


@pytest.mark.parametrize(
    "query", ["wait=Failed", "wait=ready", "wait=Ready&timeoutSeconds=0", "wait=Ready&x=1"]
)
async def test_an_invalid_wait_parameter_is_refused(api: ApiClient, query: str) -> None:
    assert (await api.get(f"{UNITS}/x?{query}")).status_and_code == (400, "invalid_request")


async def test_a_waiting_get_of_an_absent_unit_returns_at_once(api: ApiClient) -> None:
    assert (await api.get(f"{UNITS}/absent?wait=Ready")).status_and_code == (404, "not_found")
