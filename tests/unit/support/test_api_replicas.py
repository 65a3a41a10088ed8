"""Tests of the test support for API processes that are killed and restarted."""

import asyncio
from contextlib import closing
from types import SimpleNamespace
from typing import cast

from apiserver.wiring import KubeServices
from tests.support.faults.api_replicas import ApiReplicas
from tests.support.faults.faulty_gateway import ProcessKilled
from tests.support.wait.eventually import eventually


async def run_until_cancelled() -> None:
    await asyncio.Event().wait()


IDLE_TASK = SimpleNamespace(run=run_until_cancelled)


async def die_when_cancelled() -> None:
    try:
        await run_until_cancelled()
    finally:
        raise ProcessKilled


async def test_a_process_that_dies_at_the_end_of_a_test_is_not_restarted() -> None:
    started = []

    def start() -> KubeServices:
        started.append(True)
        operation_tasks = SimpleNamespace(run=die_when_cancelled)
        return cast(
            KubeServices, SimpleNamespace(operation_tasks=operation_tasks, resumer=IDLE_TASK)
        )

    replicas = ApiReplicas(start)

    async def alive() -> list[KubeServices]:
        return replicas.alive

    async with asyncio.TaskGroup() as group:
        replica = group.create_task(replicas.run_replica())
        with closing(replicas):
            await eventually(alive)
        replica.cancel()

    assert len(started) == 1
