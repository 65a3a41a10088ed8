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
async def test_the_model_answers_as_a_real_server_does(
    installed_control_plane: ControlPlane, namespace: str, seed: int
) -> None:
    steps = random_script(seed, STEPS)
    async with open_gateway(installed_control_plane.layout.admin_kubeconfig) as gateway:
        real = await ScriptRunner(gateway, namespace).run(steps)
    modelled = await played_on_the_model(steps)

    for number, (step, told, expected) in enumerate(zip(steps, modelled, real, strict=True)):
        assert told == expected, f"seed {seed}, step {number}: {step}"
    assert {"NotFoundError", "AlreadyExistsError", "ConflictError"} <= {
        each for each in real if is_error(each)
    }


async def played_on_the_model(steps: list[CallStep]) -> list[Any]:
    turnstile = DeterministicScheduler(Random(0))
    async with asyncio.TaskGroup() as group:
        player = ScriptRunner(ModelGateway(ModelServer(), turnstile), "anywhere")
        playing = group.create_task(player.run(steps))
        await turnstile.run_until(playing)
    return playing.result()


def is_error(told: Any) -> bool:
    return isinstance(told, str)
