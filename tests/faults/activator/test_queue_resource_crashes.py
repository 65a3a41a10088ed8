"""The activator dies at any write, as a function begins or ends: the next one goes on."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from hack.cluster.control_plane import ControlPlane
from serverless.activator.config import Config
from serverless.activator.sweep.decision import QUIET_MS
from serverless.activator.sweep.finalizer import LAST_PASS_MS
from shared.invocation.message import outcome_of
from shared.invocation.state import State
from shared.v1alpha1.names import queue_secret
from shared.v1alpha1.wellknown import QUEUE_FINALIZER
from tests.support.clocks.shifted_clock import ClockAhead
from tests.support.cluster.in_process_activator import activated, configuration, doomed_activator
from tests.support.cluster.isolated_installation import new_site
from tests.support.faults.crashing_rest_client import Mortal
from tests.support.queue.functions_client import NAMES, Functions, functions_of
from tests.support.queue.nats_server import new_queue
from tests.support.wait.first_of import first_of

NO_API = "http://127.0.0.1:9"
ENOUGH_WRITES = 20
# The last pass over a function's records may begin at once; the sweep still leaves them alone, so
# that the writes of the end come in their order.
SOON = ClockAhead(LAST_PASS_MS / 1000 + 1)
# Nobody can be busy any more with what a process has left behind that is dead.
LATER = ClockAhead(QUIET_MS / 1000 + 1)


class Town:
    """Functions at a queue, and activators that come and go."""

    def __init__(self, functions: Functions, config: Config) -> None:
        self.functions = functions
        self._config = config

    def healthy(self) -> AbstractAsyncContextManager[object]:
        """An activator that lives."""
        return activated(self._config, LATER)

    def doomed(self, dies_at: int) -> AbstractAsyncContextManager[Mortal]:
        """One that dies after a write; at 0, before the first.

        To die before a write is to die after the one before it.
        """
        return doomed_activator(
            self._config,
            dies_at=max(dies_at, 1),
            after_sending=dies_at > 0,
            clock=SOON,
            is_queue_mortal=True,
        )

    async def begun(self, name: str) -> None:
        """Wait until a function is open for calls."""
        await self.functions.says(name, lambda status: status.get("phase") == "Idle")

    async def delete(self, name: str) -> None:
        site = self.functions.site
        await site.admin.delete(site.path("functions", name))

    async def ended(self, name: str) -> None:
        """Wait until a function is gone."""
        await self.functions.site.gone("functions", name)

    async def belongings(self, name: str) -> set[str]:
        """What the queue has of a function."""
        jetstream = self.functions.client.jetstream()
        consumers = await jetstream.consumers_info(NAMES.invocations_stream)
        streams = await jetstream.streams_info()
        names = {each.name for each in consumers} | {each.config.name for each in streams}
        return {each for each in names if each and each in outfit(name)}


def outfit(name: str) -> set[str]:
    """The consumer and the bucket of a function."""
    return {name, f"OBJ_{NAMES.bodies_of(name)}"}


@pytest.fixture
async def town(installed: ControlPlane, tmp_path: Path) -> AsyncIterator[Town]:
    async with (
        new_site(installed) as site,
        new_queue(tmp_path / "queue") as queue,
        functions_of(site, queue) as functions,
    ):
        yield Town(functions, configuration(site, queue, NO_API))


async def test_a_function_gets_its_outfit_whatever_write_was_the_last(town: Town) -> None:
    functions, lines = town.functions, list[str]()
    for dies_at in range(ENOUGH_WRITES):
        name = await functions.create("g1.1")
        async with town.doomed(dies_at) as mortal:
            await first_of(town.begun(name), mortal.died.wait())
        async with town.healthy():
            await town.begun(name)
            assert await town.belongings(name) == outfit(name), mortal.last_call
            made = await functions.get(name)
            assert made["metadata"]["finalizers"] == [QUEUE_FINALIZER]
            await functions.site.admin.get(functions.site.path("secrets", queue_secret(name)))
            await town.delete(name)
            await town.ended(name)
        if not mortal.last_call:
            break
        lines.append(mortal.last_call)
    require(lines, "PATCH ", "/secrets/", "CONSUMER.CREATE.", "STREAM.CREATE.OBJ_", "/status")


async def test_a_function_ends_in_order_whatever_write_was_the_last(town: Town) -> None:
    functions, lines = town.functions, list[str]()
    for dies_at in range(ENOUGH_WRITES):
        name = await functions.create("g1.1")
        async with town.healthy():
            await town.begun(name)
        await functions.submit(name, "waiting")
        await functions.client.jetstream().publish(NAMES.call_subject(name, "odd"), b"?")
        await town.delete(name)
        async with town.doomed(dies_at) as mortal:
            await first_of(town.ended(name), mortal.died.wait())
        async with town.healthy():
            await town.ended(name)
        await require_settled(town, name, mortal.last_call)
        lines.append(mortal.last_call)
        if mortal.last_call.startswith("PATCH "):
            break  # the finalizer is gone, and what follows only looks for leftovers
    require(
        lines,
        "$KV.",
        ".result.",
        ".dlq.",
        "STREAM.MSG.DELETE.",
        "CONSUMER.DELETE.",
        "STREAM.DELETE.OBJ_",
        "PATCH ",
    )


async def require_settled(town: Town, name: str, last_call: str) -> None:
    """One outcome, told as it is recorded, and nothing else is left of the function."""
    functions = town.functions
    record = await functions.read(name, "waiting")
    assert (record.state, record.published) == (State.CANCELLED, True), last_call
    assert await functions.told(name) == [outcome_of(name, "waiting", record)], last_call
    assert await functions.queued(name) == {}, last_call
    assert await town.belongings(name) == set(), last_call


def require(lines: list[str], *parts: str) -> None:
    """The writes had an end, and each of these was among them."""
    assert len(lines) < ENOUGH_WRITES, f"it did not end within {ENOUGH_WRITES} writes: {lines}"
    missing = [part for part in parts if not any(part in line for line in lines)]
    assert not missing, "\n".join([*missing, "of", *lines])
