"""Invocations that release 0.1.0 (commit 0e22fbe) left in the queue: each gets its outcome.

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
SWEEP_CASES: Final = cases_by_name("activator_writes", "work")
WORKER_CASES: Final = cases_by_name("worker_writes", "messages")


@dataclass(frozen=True)
class StoredInvocation:
    """The data of an invocation that the release had in the queue, and its expected result."""

    messages: Mapping[str, str]
    state: InvocationState
    run: int = 1
    attempts: int = 1
    is_executed: bool = False
    is_published: bool = True


def sweep_case(name: str, state: InvocationState, **expected: Any) -> StoredInvocation:
    """Return an invocation that only a sweep can advance."""
    return StoredInvocation(SWEEP_CASES[f"sweep: {name}"].given["kept"], state, **expected)


def worker_case(name: str, state: InvocationState, **expected: Any) -> StoredInvocation:
    """Return an invocation with its message."""
    given = WORKER_CASES[name].given
    call = {f"runtime.serverless.invoke.{FUNCTION}.order-1": given["message"]}
    return StoredInvocation({**given["kept"], **call}, state, **expected)


STORED: Final = {
    "queued": worker_case("it fails", InvocationState.SUCCEEDED, is_executed=True),
    "released": worker_case("it may be tried again", InvocationState.SUCCEEDED, is_executed=True),
    "spent": worker_case("all attempts are spent", InvocationState.DEAD_LETTERED, attempts=3),
    "lost": sweep_case("a lost message is sent again", InvocationState.SUCCEEDED, is_executed=True),
    "running": sweep_case(
        "a run of a worker that is gone is released",
        InvocationState.SUCCEEDED,
        attempts=2,
        is_executed=True,
    ),
    "cancelling": sweep_case("a cancelled run of a worker that is gone", InvocationState.CANCELLED),
    "overdue": sweep_case("an overdue invocation", InvocationState.EXPIRED, attempts=0),
    "overdue-run": sweep_case("an overdue run", InvocationState.EXPIRED),
    "unpublished": sweep_case("an unpublished outcome", InvocationState.SUCCEEDED),
    "no-dead-letter": sweep_case("an unpublished dead letter", InvocationState.DEAD_LETTERED),
    "published": sweep_case("a published outcome", InvocationState.SUCCEEDED, is_published=False),
    "redriven": sweep_case(
        "a later run behind the message of an earlier",
        InvocationState.SUCCEEDED,
        run=2,
        is_executed=True,
    ),
    "orphan": sweep_case("of a function that is gone", InvocationState.CANCELLED, attempts=0),
}


async def publish_stored(
    functions: FunctionsClient, uid: str, invocation_id: str, stored: StoredInvocation
) -> None:
    """Put an invocation into the queue, with the uid that the function has here."""
    for subject, text in stored.messages.items():
        data = text.replace("uid-of-echo", uid).replace("order-1", invocation_id)
        new_subject = subject.replace("order-1", invocation_id)
        await functions.jetstream.publish(new_subject, data.encode())


def is_finished(record: InvocationRecord) -> bool:
    """Return whether the record has its outcome, and the outcome is published."""
    return record.is_final and record.published


async def test_each_stored_invocation_of_the_release_gets_one_outcome(
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
            for invocation_id, stored in STORED.items():
                await publish_stored(functions, uid, invocation_id, stored)
            # The worker below is accepted for any function.
            await functions.wait_record(FUNCTION, "orphan", is_finished)
            async with run_worker(queue.admin_url, FUNCTION, socket):
                records = {
                    name: await functions.wait_record(FUNCTION, name, is_finished)
                    for name in STORED
                }
            published = await functions.published_outcomes(FUNCTION)

    ends = {name: (record.state, record.run, record.attempts) for name, record in records.items()}
    assert ends == {name: (case.state, case.run, case.attempts) for name, case in STORED.items()}
    assert sorted(outcome.invocation_id for outcome in published) == sorted(
        name for name, case in STORED.items() if case.is_published
    )
    assert sorted(execution.invocation_id for execution in executions) == sorted(
        name for name, case in STORED.items() if case.is_executed
    )


async def has_a_consumer(functions: FunctionsClient) -> bool:
    """Return whether the activator has created the consumer of the function."""
    stream = "RUNTIME_INVOCATIONS"
    infos = await functions.jetstream.consumers_info(stream)
    return FUNCTION in {info.name for info in infos}


async def test_the_run_of_a_lost_worker_continues_with_its_message(tmp_path: Path) -> None:
    """Test a record that names the position of its message in the stream, which is the second."""
    given = WORKER_CASES["the worker before is gone"].given
    async with (
        new_nats_server(tmp_path / "queue") as queue,
        existing_function(queue, FUNCTION) as harness,
    ):
        await harness.create_streams()
        await harness.client.jetstream().publish(harness.names.call_subject("other", "first"), b"")
        for subject, text in worker_case(
            "the worker before is gone", InvocationState.SUCCEEDED
        ).messages.items():
            await harness.client.jetstream().publish(subject, text.encode())
        harness.accepted.append(f"{FUNCTION}.order-1")
        async with (
            serve_recording_framework(harness.executions) as (_, socket),
            run_worker(queue.admin_url, FUNCTION, socket),
        ):
            snapshot = await harness.wait_finished()

    (outcome,) = snapshot.outcomes
    assert (outcome.state, outcome.attempts, outcome.worker) == (
        InvocationState.SUCCEEDED,
        2,
        DEFAULT_OPTIONS.name,
    )
    assert [execution.attempt for execution in snapshot.executions] == [2]
    assert call_message(
        FUNCTION, "order-1", snapshot.versions[f"{FUNCTION}.order-1"][0].record
    ) == (decode_call(given["message"].encode()))


@asynccontextmanager
async def existing_function(queue: NATSServer, name: str) -> AsyncIterator[FunctionHarness]:
    """Create the function of that name on a queue for the length of the block."""
    client = await nats.connect(queue.admin_url)
    try:
        yield FunctionHarness(client, name)
    finally:
        await client.close()
