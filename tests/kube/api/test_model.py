"""The model of the API server in comparison with a real one, call by call.

A failure names its seed. Compared are the error's type, or the object; its uid and version are
replaced by the order in which they were first seen.
"""

import asyncio
from random import Random
from typing import Any

import pytest

from hack.cluster.control_plane import ControlPlane
from tests.model.call_script import CallStep, ScriptRunner, random_script
from tests.model.gateway import ModelGateway
from tests.model.scheduler import DeterministicScheduler
from tests.model.server import ModelServer
from tests.support.cluster.kube_gateway import open_gateway

SCRIPTS = 8
STEPS = 100


@pytest.mark.parametrize("seed", range(SCRIPTS))
async def test_the_model_responds_like_a_real_api_server(
    installed_control_plane: ControlPlane, namespace: str, seed: int
) -> None:
    steps = random_script(seed, STEPS)
    async with open_gateway(installed_control_plane.layout.admin_kubeconfig) as gateway:
        real = await ScriptRunner(gateway, namespace).run(steps)
    modelled = await run_on_model(steps)

    for number, (step, actual, expected) in enumerate(zip(steps, modelled, real, strict=True)):
        assert actual == expected, f"seed {seed}, step {number}: {step}"
    assert {"NotFoundError", "AlreadyExistsError", "ConflictError"} <= {
        result for result in real if is_error(result)
    }


async def run_on_model(steps: list[CallStep]) -> list[Any]:
    scheduler = DeterministicScheduler(Random(0))
    async with asyncio.TaskGroup() as group:
        runner = ScriptRunner(ModelGateway(ModelServer(), scheduler), "anywhere")
        task = group.create_task(runner.run(steps))
        await scheduler.run_until(task)
    return task.result()


def is_error(result: Any) -> bool:
    return isinstance(result, str)
