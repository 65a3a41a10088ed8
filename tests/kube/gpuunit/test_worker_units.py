"""Worker units of a function, on a real API server and simulated nodes."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders.simulated_units import resource_version, unit_pods, user_unit_manifest
from tests.support.cluster.in_process_controller import run_controller
from tests.support.cluster.isolated_installation import IsolatedInstallation, ready_condition
from tests.support.wait.eventually import eventually

ECHO = {"requestID": "echo"}


def a_function(name: str) -> dict[str, Any]:
    """Return a function manifest as a person would write it."""
    return {
        "apiVersion": "runtime.lokiwager.io/v1alpha1",
        "kind": "Function",
        "metadata": {"name": name},
        "spec": {"specName": "g1.1", "image": "local/echo"},
    }


def condition(unit: Mapping[str, Any]) -> tuple[str, str]:
    """Return the status and the reason of the unit's worker condition."""
    (worker_condition,) = [
        item for item in unit["status"]["conditions"] if item["type"] == "ServerlessReady"
    ]
    return worker_condition["status"], worker_condition["reason"]


async def test_a_worker_waits_for_its_function_and_then_runs_beside_the_program(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("gpuunits", user_unit_manifest("mine", serverless=ECHO))
        waiting = await eventually(
            lambda: installation.get_unit("mine"), lambda unit: bool(ready_condition(unit))
        )
        assert ready_condition(waiting)["message"] == "Function echo does not exist yet"
        assert condition(waiting) == ("False", "FunctionMissing")
        assert await unit_pods(installation, "mine") == []

        await installation.create("functions", a_function("echo"))
        unit = await installation.wait_unit_reason("mine", "UnitReady")
        (pod,) = await unit_pods(installation, "mine")

    assert (unit["status"]["serverless"], condition(unit)) == (
        {"phase": "Ready"},
        ("True", "WorkerReady"),
    )
    (sidecar,) = pod["spec"]["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"]) == ("worker", "Always")


async def test_a_worker_outlives_its_function_and_is_not_written_when_idle(
    installation: IsolatedInstallation,
) -> None:
    async with run_controller(installation):
        await installation.create("functions", a_function("echo"))
        await installation.create("gpuunits", user_unit_manifest("mine", serverless=ECHO))
        before = await installation.wait_unit_reason("mine", "UnitReady")
        await installation.admin.delete(installation.path("functions", "echo"))
        await installation.wait_gone("functions", "echo")
        await installation.create("gpuunits", user_unit_manifest("other"))
        await installation.wait_unit_reason("other", "UnitReady")
        assert resource_version(await installation.get_unit("mine")) == resource_version(before)


async def test_an_invalid_worker_reports_the_reason_and_creates_no_pod(
    installation: IsolatedInstallation,
) -> None:
    framework = {"socketPath": "/proc/f.sock", "invokePath": "go"}
    async with run_controller(installation):
        await installation.create("functions", a_function("echo"))
        body = user_unit_manifest("mine", serverless={**ECHO, "framework": framework})
        await installation.create("gpuunits", body)
        unit = await installation.wait_unit_reason("mine", "ServerlessConfigInvalid")
        assert await unit_pods(installation, "mine") == []

    assert "spec.serverless.framework.socketPath" in ready_condition(unit)["message"]
    assert condition(unit) == ("False", "WorkerFailed")
