"""Crashes of the activator at any write while a function is created or deleted."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from hack.cluster.control_plane import ControlPlane
from serverless.activator.config import Config
from serverless.activator.sweep.decision import QUIET_MS
from serverless.activator.sweep.finalizer import LAST_PASS_DELAY_MS
from shared.invocation.message import outcome_message
from shared.invocation.state import InvocationState
from shared.v1alpha1.names import queue_secret_name
from shared.v1alpha1.wellknown import QUEUE_FINALIZER
from tests.support.clocks.shifted_clock import ShiftedClock
from tests.support.cluster.in_process_activator import (
    activator_config,
    run_activator,
)
from tests.support.cluster.isolated_installation import new_isolated_installation
from tests.support.faults.crashing_activator import run_crashing_activator
from tests.support.faults.crashing_rest_client import CrashingRestClient
from tests.support.queue.functions_client import QUEUE_NAMES, FunctionsClient, open_functions
from tests.support.queue.nats_server import new_nats_server
from tests.support.wait.first_of import wait_for_first

NO_API = "http://127.0.0.1:9"
MAX_WRITES = 20
# The last pass over a function's records may begin at once. The sweep still leaves the records
# alone, so that the writes of the deletion come in a fixed order.
SOON = ShiftedClock(LAST_PASS_DELAY_MS / 1000 + 1)
# A clock far enough ahead that no process can still be working on the records of a dead process.
LATER = ShiftedClock(QUIET_MS / 1000 + 1)


class ActivatorCrashTest:
    """Functions at a queue, and activators that start and crash."""

    def __init__(self, functions: FunctionsClient, config: Config) -> None:
        self.functions = functions
        self._config = config

    def healthy(self) -> AbstractAsyncContextManager[object]:
        """Run an activator that does not crash."""
        return run_activator(self._config, LATER)

    def crashing(self, crash_at: int) -> AbstractAsyncContextManager[CrashingRestClient]:
        """Run an activator that crashes after a write; at 0, before the first.

        A crash before a write equals a crash after the write before it.
        """
        return run_crashing_activator(
            self._config,
            crash_at_write=max(crash_at, 1),
            after_sending=crash_at > 0,
            clock=SOON,
            count_nats_writes=True,
        )

    async def wait_idle(self, name: str) -> None:
        """Wait until a function is open for calls."""
        await self.functions.wait_status(name, lambda status: status.get("phase") == "Idle")

    async def delete(self, name: str) -> None:
        site = self.functions.installation
        await site.admin.delete(site.path("functions", name))

    async def wait_gone(self, name: str) -> None:
        """Wait until a function is gone."""
        await self.functions.installation.wait_gone("functions", name)

    async def existing_resources(self, name: str) -> set[str]:
        """Return the names of the consumer and the bucket of a function that exist."""
        jetstream = self.functions.client.jetstream()
        consumers = await jetstream.consumers_info(QUEUE_NAMES.invocations_stream)
        streams = await jetstream.streams_info()
        names = {info.name for info in consumers} | {info.config.name for info in streams}
        return {resource for resource in names if resource and resource in queue_resources(name)}


def queue_resources(name: str) -> set[str]:
    """Return the names of the consumer and the bucket of a function."""
    return {name, f"OBJ_{QUEUE_NAMES.body_bucket_name(name)}"}


@pytest.fixture
async def crash_test(
    installed_control_plane: ControlPlane, tmp_path: Path
) -> AsyncIterator[ActivatorCrashTest]:
    async with (
        new_isolated_installation(installed_control_plane) as site,
        new_nats_server(tmp_path / "queue") as queue,
        open_functions(site, queue) as functions,
    ):
        yield ActivatorCrashTest(functions, activator_config(site, queue, NO_API))


async def test_queue_resources_are_created_although_the_activator_crashes_at_any_write(
    crash_test: ActivatorCrashTest,
) -> None:
    functions, writes = crash_test.functions, list[str]()
    for crash_at in range(MAX_WRITES):
        name = await functions.create("g1.1")
        async with crash_test.crashing(crash_at) as client:
            await wait_for_first(crash_test.wait_idle(name), client.crashed.wait())
        async with crash_test.healthy():
            await crash_test.wait_idle(name)
            assert await crash_test.existing_resources(name) == queue_resources(name), (
                client.fatal_call
            )
            function = await functions.get(name)
            assert function["metadata"]["finalizers"] == [QUEUE_FINALIZER]
            await functions.installation.admin.get(
                functions.installation.path("secrets", queue_secret_name(name))
            )
            await crash_test.delete(name)
            await crash_test.wait_gone(name)
        if not client.fatal_call:
            break
        writes.append(client.fatal_call)
    require_writes(
        writes, "PATCH ", "/secrets/", "CONSUMER.CREATE.", "STREAM.CREATE.OBJ_", "/status"
    )


async def test_a_function_is_deleted_completely_although_the_activator_crashes_at_any_write(
    crash_test: ActivatorCrashTest,
) -> None:
    functions, writes = crash_test.functions, list[str]()
    for crash_at in range(MAX_WRITES):
        name = await functions.create("g1.1")
        async with crash_test.healthy():
            await crash_test.wait_idle(name)
        await functions.submit(name, "waiting")
        await functions.client.jetstream().publish(QUEUE_NAMES.call_subject(name, "odd"), b"?")
        await crash_test.delete(name)
        async with crash_test.crashing(crash_at) as client:
            await wait_for_first(crash_test.wait_gone(name), client.crashed.wait())
        async with crash_test.healthy():
            await crash_test.wait_gone(name)
        await require_settled(crash_test, name, client.fatal_call)
        writes.append(client.fatal_call)
        if client.fatal_call.startswith("PATCH "):
            break  # the finalizer is removed, and the remaining writes only check for leftovers
    require_writes(
        writes,
        "$KV.",
        ".result.",
        ".dlq.",
        "STREAM.MSG.DELETE.",
        "CONSUMER.DELETE.",
        "STREAM.DELETE.OBJ_",
        "PATCH ",
    )


async def require_settled(crash_test: ActivatorCrashTest, name: str, last_call: str) -> None:
    """Require one published outcome, equal to the record, and no resource of the function."""
    functions = crash_test.functions
    record = await functions.read_record(name, "waiting")
    assert (record.state, record.published) == (InvocationState.CANCELLED, True), last_call
    assert await functions.published_outcomes(name) == [outcome_message(name, "waiting", record)], (
        last_call
    )
    assert await functions.queued_counts(name) == {}, last_call
    assert await crash_test.existing_resources(name) == set(), last_call


def require_writes(writes: list[str], *parts: str) -> None:
    """Require fewer than MAX_WRITES writes, and each part in one of them."""
    assert len(writes) < MAX_WRITES, f"more than {MAX_WRITES} writes: {writes}"
    missing = [part for part in parts if not any(part in write for write in writes)]
    assert not missing, "\n".join([*missing, "not found in", *writes])
