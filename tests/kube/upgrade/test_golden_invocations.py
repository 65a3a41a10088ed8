"""Invocations that release 0.1.0 (commit 0e22fbe) has left in the queue: each gets its outcome.

The records and messages are those of tests/unit/golden. They are put into a real queue byte for
byte; the present activator and a present worker do the rest.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import nats

from hack.cluster.control_plane import ControlPlane
from hack.cluster.nats_server import NATSServer
from serverless.activator.sweep.decision import QUIET_MS
from shared.invocation.message import call_message, decode_call
from shared.invocation.record import InvocationRecord
from shared.invocation.state import InvocationState
from tests.support.checks.invocation_checks import Execution
from tests.support.clocks.shifted_clock import ShiftedClock
from tests.support.cluster.in_process_activator import activator_config, run_activator
from tests.support.cluster.isolated_installation import new_isolated_installation
from tests.support.queue.function_harness import FunctionHarness
from tests.support.queue.functions_client import FunctionsClient, function_manifest, open_functions
from tests.support.queue.in_process_worker import DEFAULT_OPTIONS, run_worker
from tests.support.queue.nats_server import new_nats_server
from tests.support.queue.recording_framework import serve_recording_framework
from tests.support.wait.eventually import eventually
from tests.unit.golden.data import cases_by_name

NO_API: Final = "http://127.0.0.1:1"
FUNCTION: Final = "echo"
# A clock on which records that were just written have been quiet for long enough.
LATER: Final = ShiftedClock(QUIET_MS / 1000 + 1)
SWEPT: Final = cases_by_name("activator_writes", "work")
HANDED: Final = cases_by_name("worker_writes", "messages")


@dataclass(frozen=True)
class Left:
    """The data of an invocation that the release had in the queue, and its expected result."""

    kept: Mapping[str, str]
    state: InvocationState
    run: int = 1
    attempts: int = 1
    is_executed: bool = False
    is_told: bool = True


def swept(name: str, state: InvocationState, **more: Any) -> Left:
    """Return an invocation that only a sweep can advance."""
    return Left(SWEPT[f"sweep: {name}"].given["kept"], state, **more)


def handed(name: str, state: InvocationState, **more: Any) -> Left:
    """Return an invocation with its message."""
    given = HANDED[name].given
    call = {f"runtime.serverless.invoke.{FUNCTION}.order-1": given["message"]}
    return Left({**given["kept"], **call}, state, **more)


LEFT: Final = {
    "queued": handed("it fails", InvocationState.SUCCEEDED, is_executed=True),
    "released": handed("it may be tried again", InvocationState.SUCCEEDED, is_executed=True),
    "spent": handed("all attempts are spent", InvocationState.DEAD_LETTERED, attempts=3),
    "lost": swept("a lost message is sent again", InvocationState.SUCCEEDED, is_executed=True),
    "running": swept(
        "a run of a worker that is gone is released",
        InvocationState.SUCCEEDED,
        attempts=2,
        is_executed=True,
    ),
    "cancelling": swept("a cancelled run of a worker that is gone", InvocationState.CANCELLED),
    "overdue": swept("an overdue invocation", InvocationState.EXPIRED, attempts=0),
    "overdue-run": swept("an overdue run", InvocationState.EXPIRED),
    "untold": swept("an outcome that was not told", InvocationState.SUCCEEDED),
    "unburied": swept("a dead letter that was not told", InvocationState.DEAD_LETTERED),
    "told": swept("an outcome that was told", InvocationState.SUCCEEDED, is_told=False),
    "redriven": swept(
        "a later run behind the message of an earlier",
        InvocationState.SUCCEEDED,
        run=2,
        is_executed=True,
    ),
    "orphan": swept("of a function that is gone", InvocationState.CANCELLED, attempts=0),
}


async def put(functions: FunctionsClient, uid: str, invocation_id: str, left: Left) -> None:
    """Put an invocation into the queue, with the uid that the function has here."""
    for subject, text in left.kept.items():
        here = text.replace("uid-of-echo", uid).replace("order-1", invocation_id)
        place = subject.replace("order-1", invocation_id)
        await functions.jetstream.publish(place, here.encode())


def is_over(record: InvocationRecord) -> bool:
    """Return whether the record has its outcome, and the outcome is published."""
    return record.is_final and record.published


async def test_what_was_left_is_brought_to_its_one_end(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> None:
    executions: list[Execution] = []
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(tmp_path / "queue") as queue,
        open_functions(site, queue) as functions,
        serve_recording_framework(executions) as (_, socket),
    ):
        await site.create("functions", function_manifest(FUNCTION, "g1.1"))
        uid = await functions.uid(FUNCTION)
        async with run_activator(activator_config(site, queue, NO_API), LATER):
            await eventually(lambda: has_a_consumer(functions), timeout_seconds=150)
            for invocation_id, left in LEFT.items():
                await put(functions, uid, invocation_id, left)
            # The worker below is accepted for any function.
            await functions.wait_record(FUNCTION, "orphan", is_over)
            async with run_worker(queue.admin_url, FUNCTION, socket):
                found = {
                    each: await functions.wait_record(FUNCTION, each, is_over) for each in LEFT
                }
            told = await functions.published_outcomes(FUNCTION)

    ends = {each: (record.state, record.run, record.attempts) for each, record in found.items()}
    assert ends == {each: (left.state, left.run, left.attempts) for each, left in LEFT.items()}
    assert sorted(each.invocation_id for each in told) == sorted(
        each for each, left in LEFT.items() if left.is_told
    )
    assert sorted(each.invocation_id for each in executions) == sorted(
        each for each, left in LEFT.items() if left.is_executed
    )


async def has_a_consumer(functions: FunctionsClient) -> bool:
    """Return whether the activator has created the consumer of the function."""
    stream = "RUNTIME_INVOCATIONS"
    found = await functions.jetstream.consumers_info(stream)
    return FUNCTION in {each.name for each in found}


async def test_a_run_of_a_worker_that_is_gone_goes_on_with_its_message(tmp_path: Path) -> None:
    """Test a record that names the position of its message in the stream, which is the second."""
    given = HANDED["the worker before is gone"].given
    async with new_nats_server(tmp_path / "queue") as queue, world_of(queue, FUNCTION) as world:
        await world.create_streams()
        await world.client.jetstream().publish(world.names.call_subject("other", "first"), b"")
        for subject, text in handed(
            "the worker before is gone", InvocationState.SUCCEEDED
        ).kept.items():
            await world.client.jetstream().publish(subject, text.encode())
        world.accepted.append(f"{FUNCTION}.order-1")
        async with (
            serve_recording_framework(world.executions) as (_, socket),
            run_worker(queue.admin_url, FUNCTION, socket),
        ):
            seen = await world.wait_finished()

    (outcome,) = seen.outcomes
    assert (outcome.state, outcome.attempts, outcome.worker) == (
        InvocationState.SUCCEEDED,
        2,
        DEFAULT_OPTIONS.name,
    )
    assert [each.attempt for each in seen.executions] == [2]
    assert call_message(FUNCTION, "order-1", seen.versions[f"{FUNCTION}.order-1"][0].record) == (
        decode_call(given["message"].encode())
    )


@asynccontextmanager
async def world_of(queue: NATSServer, name: str) -> AsyncIterator[FunctionHarness]:
    """Create the function of that name on a queue for the length of the block."""
    client = await nats.connect(queue.admin_url)
    try:
        yield FunctionHarness(client, name)
    finally:
        await client.close()
