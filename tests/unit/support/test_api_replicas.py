"""Tests of the test support for API processes that die and are started again."""

import asyncio
from contextlib import closing
from types import SimpleNamespace
from typing import cast

from apiserver.wiring import KubeServices
from tests.support.faults.api_replicas import ApiReplicas
from tests.support.faults.faulty_gateway import ProcessKilled
from tests.support.wait.eventually import eventually


async def for_ever() -> None:
    await asyncio.Event().wait()


RESTING = SimpleNamespace(run=for_ever)


async def dying_when_cancelled() -> None:
    try:
        await for_ever()
    finally:
        raise ProcessKilled


async def test_a_process_that_dies_while_the_test_ends_is_not_started_again() -> None:
    started = []

    def start() -> KubeServices:
        started.append(True)
        operation_tasks = SimpleNamespace(run=dying_when_cancelled)
        return cast(KubeServices, SimpleNamespace(operation_tasks=operation_tasks, resumer=RESTING))

    replicas = ApiReplicas(start)

    async def alive() -> list[KubeServices]:
        return replicas.alive

    async with asyncio.TaskGroup() as group:
        kept = group.create_task(replicas.run_replica())
        with closing(replicas):
            await eventually(alive)
        kept.cancel()

    assert len(started) == 1
