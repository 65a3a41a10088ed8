"""Tests of the process: its start, its stop and its exit code."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from apiserver.health.cluster_state import KUBERNETES_OFF
from apiserver.health.readiness import Readiness
from apiserver.health.startup import ClusterNotReadyError
from apiserver.process import Process
from shared.config.exitcode import ExitCode


@asynccontextmanager
async def server(events: list[str]) -> AsyncIterator[None]:
    events.append("listening")
    yield
    events.append("drained")


async def test_background_tasks_start_after_listening_and_end_after_draining() -> None:
    events: list[str] = []

    async def work() -> None:
        events.append("working")
        process.stop()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("work ended")

    process = Process(Readiness(lambda: KUBERNETES_OFF), {"work": work})
    assert await process.run(server(events)) is ExitCode.CLEAN
    assert events == ["listening", "working", "drained", "work ended"]


async def test_a_cluster_that_is_not_ready_ends_the_process_with_1_and_the_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        raise ClusterNotReadyError("no connection within 30 s")

    process = Process(Readiness(lambda: KUBERNETES_OFF), {"work": work})
    assert await process.run(server([])) is ExitCode.FAILURE
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert (line.message, vars(line)["error"]) == ("cluster_not_ready", "no connection within 30 s")


async def test_the_first_exit_code_wins() -> None:
    process = Process(Readiness(lambda: KUBERNETES_OFF), {})
    process.stop(ExitCode.FAILURE)
    process.stop(ExitCode.CLEAN)
    assert await process.run(server([])) is ExitCode.FAILURE


async def test_a_stopping_process_is_not_ready() -> None:
    readiness = Readiness(lambda: KUBERNETES_OFF)
    process = Process(readiness, {})
    process.stop()
    await process.run(server([]))
    assert readiness.not_ready_reasons() == ("the process is stopping",)


async def test_an_unexpected_error_of_a_background_task_is_raised() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup):
        await Process(Readiness(lambda: KUBERNETES_OFF), {"work": work}).run(server([]))
