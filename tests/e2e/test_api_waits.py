"""Waiting for a unit over HTTP: the answer comes when there is something to say."""

import asyncio
from typing import Any

import pytest

from apiserver.places import UNITS
from tests.support.caller import Caller
from tests.support.eventually import eventually
from tests.support.installation import Installation


def simulated(mode: str, **details: str) -> dict[str, str]:
    """Labels that tell a simulated node what becomes of the pod."""
    return {"sim.local/mode": mode, **{f"sim.local/{key}": each for key, each in details.items()}}


async def a_unit(product: Installation, labels: dict[str, str]) -> str:
    name: str = (await product.a_unit(labels=labels)).data["name"]
    return name


async def waited(caller: Caller, name: str, seconds: int) -> tuple[float, dict[str, Any]]:
    """How long the answer took, and the unit in it."""
    clock = asyncio.get_running_loop()
    began = clock.time()
    answer = await caller.get(f"{UNITS}/{name}?wait=Ready&timeoutSeconds={seconds}")
    assert answer.status == 200, answer.body
    return clock.time() - began, answer.data


async def test_the_answer_comes_when_the_unit_is_ready(product: Installation) -> None:
    name = await a_unit(product, simulated("slow", delay="2s"))
    seconds, unit = await waited(product.replica, name, 60)

    assert unit["phase"] == "Ready"
    assert 1.0 < seconds < 30.0


async def test_the_answer_comes_when_the_unit_has_failed_and_says_why(
    product: Installation,
) -> None:
    name = await a_unit(product, simulated("image-pull"))
    seconds, unit = await waited(product.api, name, 60)

    assert (unit["phase"], unit["reason"]) == ("Failed", "PodStartupFailed")
    assert "example/app:1" in unit["message"]
    assert seconds < 30.0


async def test_the_answer_comes_at_the_time_limit_whatever_the_unit_is(
    product: Installation,
) -> None:
    name = await a_unit(product, simulated("never-ready"))
    seconds, unit = await waited(product.api, name, 1)

    assert unit.get("phase", "Progressing") == "Progressing"
    assert 1.0 <= seconds < 5.0


async def test_a_unit_that_is_ready_is_answered_at_once(product: Installation) -> None:
    name = await product.a_ready_unit()
    seconds, unit = await waited(product.api, name, 60)

    assert unit["phase"] == "Ready"
    assert seconds < 1.0


async def test_waiting_for_a_unit_that_is_deleted_meanwhile_ends(product: Installation) -> None:
    name = await a_unit(product, simulated("never-ready"))
    await eventually(
        lambda: product.api.get(f"{UNITS}/{name}"), lambda answer: "phase" in answer.data
    )
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(product.api.get(f"{UNITS}/{name}?wait=Ready"))
        await eventually(lambda: is_waited_for(product.api))
        await product.replica.delete(f"{UNITS}/{name}")

    assert waiting.result().refusal == (404, "not_found")


async def is_waited_for(api: Caller) -> bool:
    """Whether a request is in flight besides the one that asks."""
    text = (await api.text("/metrics")).splitlines()
    (line,) = [line for line in text if line.startswith("gpuruntime_http_in_flight")]
    return float(line.split()[-1]) > 1


async def test_a_change_is_waited_for_as_a_creation_is(product: Installation) -> None:
    name = await product.a_ready_unit()
    await product.api.put(f"{UNITS}/{name}", {"labels": simulated("slow", delay="1s")})
    await product.api.put(f"{UNITS}/{name}", {"image": "example/app:2"})
    _, unit = await waited(product.api, name, 60)

    assert (unit["image"], unit["observedGeneration"]) == ("example/app:2", 2)
    assert unit["phase"] == "Ready"


@pytest.mark.parametrize(
    "query", ["wait=Failed", "wait=ready", "wait=Ready&timeoutSeconds=0", "wait=Ready&x=1"]
)
async def test_a_wait_that_cannot_be_is_refused(api: Caller, query: str) -> None:
    assert (await api.get(f"{UNITS}/x?{query}")).refusal == (400, "invalid_request")


async def test_waiting_for_a_unit_that_is_not_there_ends_at_once(api: Caller) -> None:
    assert (await api.get(f"{UNITS}/absent?wait=Ready")).refusal == (404, "not_found")
