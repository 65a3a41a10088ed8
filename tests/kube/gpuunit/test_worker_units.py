"""Units that work for a function, on a real API server and simulated nodes."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders.simulated_units import a_users_unit, pods_of, version_of
from tests.support.cluster.in_process_controller import controlled
from tests.support.cluster.isolated_installation import Site, ready_of
from tests.support.wait.eventually import eventually

ECHO = {"requestID": "echo"}


def a_function(name: str) -> dict[str, Any]:
    """A function as a person would write it."""
    return {
        "apiVersion": "runtime.lokiwager.io/v1alpha1",
        "kind": "Function",
        "metadata": {"name": name},
        "spec": {"specName": "g1.1", "image": "local/echo"},
    }


def condition(unit: Mapping[str, Any]) -> tuple[str, str]:
    """What the unit says of its worker."""
    (found,) = [each for each in unit["status"]["conditions"] if each["type"] == "ServerlessReady"]
    return found["status"], found["reason"]


async def test_a_worker_waits_for_its_function_and_then_runs_beside_the_program(
    site: Site,
) -> None:
    async with controlled(site):
        await site.create("gpuunits", a_users_unit("mine", serverless=ECHO))
        waiting = await eventually(lambda: site.unit("mine"), lambda unit: bool(ready_of(unit)))
        assert ready_of(waiting)["message"] == "Function echo does not exist (yet)"
        assert condition(waiting) == ("False", "FunctionMissing")
        assert await pods_of(site, "mine") == []

        await site.create("functions", a_function("echo"))
        unit = await site.unit_with("mine", "UnitReady")
        (pod,) = await pods_of(site, "mine")

    assert (unit["status"]["serverless"], condition(unit)) == (
        {"phase": "Ready"},
        ("True", "WorkerReady"),
    )
    (sidecar,) = pod["spec"]["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"]) == ("worker", "Always")


async def test_a_worker_outlives_its_function_and_nothing_is_written_at_rest(site: Site) -> None:
    async with controlled(site):
        await site.create("functions", a_function("echo"))
        await site.create("gpuunits", a_users_unit("mine", serverless=ECHO))
        before = await site.unit_with("mine", "UnitReady")
        await site.admin.delete(site.path("functions", "echo"))
        await site.gone("functions", "echo")
        await site.create("gpuunits", a_users_unit("other"))
        await site.unit_with("other", "UnitReady")
        assert version_of(await site.unit("mine")) == version_of(before)


async def test_a_worker_that_cannot_be_says_why_and_makes_no_pod(site: Site) -> None:
    framework = {"socketPath": "/proc/f.sock", "invokePath": "go"}
    async with controlled(site):
        await site.create("functions", a_function("echo"))
        body = a_users_unit("mine", serverless={**ECHO, "framework": framework})
        await site.create("gpuunits", body)
        unit = await site.unit_with("mine", "ServerlessConfigInvalid")
        assert await pods_of(site, "mine") == []

    assert "spec.serverless.framework.socketPath" in ready_of(unit)["message"]
    assert condition(unit) == ("False", "WorkerFailed")
