"""Tests of the writer: a write is in all matching caches before the caller continues."""

from random import Random
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.cache.writer import Writer
from controller.runtime.client.client import Body, Client, Preconditions, Propagation
from controller.runtime.client.decoding import DeleteResult
from controller.runtime.client.kind import Kind
from controller.runtime.errors import ConflictError
from controller.runtime.key import ObjectKey
from controller.runtime.leader.rules import LeadershipLostError
from tests.support.builders.note_resource import NOTES, Note
from tests.support.clocks.virtual_clock import VirtualClock
from tests.unit.controller.runtime.note_watch_events import listing, new_note, note_key
from tests.unit.controller.scripted_source import ScriptedSource


class ScriptedWrites:
    """Client that returns a scripted response; implements the writing verbs of Client."""

    def __init__(self, response: Note | DeleteResult[Note] | Exception) -> None:
        self._response = response

    async def create(self, kind: Kind[Any], body: Body) -> Any:
        return self._respond()

    async def apply(self, kind: Kind[Any], body: Body, subresource: str, *, force: bool) -> Any:
        return self._respond()

    async def patch(self, kind: Kind[Any], key: ObjectKey, body: Body, subresource: str) -> Any:
        return self._respond()

    async def patch_status(self, kind: Kind[Any], key: ObjectKey, status: Body) -> Any:
        return self._respond()

    async def delete(
        self,
        kind: Kind[Any],
        key: ObjectKey,
        condition: Preconditions | None,
        propagation: Propagation,
    ) -> Any:
        return self._respond()

    def _respond(self) -> Any:
        if isinstance(self._response, Exception):
            raise self._response
        return self._response


def new_informer(namespace: str = "") -> Informer[Note]:
    """Return an informer whose initial list was `a` at version 1."""
    clock = VirtualClock()
    metrics, rng = InformerMetrics(CollectorRegistry()), Random(7)
    scope = WatchScope(NOTES, namespace)
    informer = Informer(ScriptedSource(clock), scope, metrics, clock, rng)
    informer.replace(listing(10, new_note("a", 1)))
    return informer


def new_writer(
    response: Note | DeleteResult[Note] | Exception, *informers: Informer[Note]
) -> Writer:
    return Writer(cast(Client, ScriptedWrites(response)), informers)


@pytest.mark.parametrize("verb", ["create", "apply", "patch", "patch_status"])
async def test_a_written_object_can_be_read_from_the_cache_at_once(verb: str) -> None:
    informer, written = new_informer(), new_note("a", 11)
    writer = new_writer(written, informer)
    arguments = [{}] if verb in ("create", "apply") else [note_key("a"), {}]
    assert await getattr(writer, verb)(NOTES, *arguments) == written
    assert informer.store.get(note_key("a")) is written


async def test_a_deleted_object_is_gone_from_the_cache_at_once() -> None:
    informer = new_informer()
    await new_writer(DeleteResult(None, "uid-a"), informer).delete(NOTES, note_key("a"))
    assert note_key("a") not in informer.store


async def test_a_terminating_object_can_be_read_from_the_cache() -> None:
    informer, terminating = new_informer(), new_note("a", 11)
    await new_writer(DeleteResult(terminating, "uid-a"), informer).delete(NOTES, note_key("a"))
    assert informer.store.get(note_key("a")) is terminating


async def test_a_refused_write_does_not_change_the_cache() -> None:
    informer = new_informer()
    with pytest.raises(ConflictError):
        await new_writer(ConflictError("no", status=409), informer).delete(NOTES, note_key("a"))
    assert informer.store.get(note_key("a")) == new_note("a", 1)


async def test_a_write_enters_every_cache_that_is_responsible_for_the_object_and_no_other() -> None:
    informers = [new_informer(), new_informer("ns"), new_informer("another")]
    writer = new_writer(new_note("b", 11), *informers)
    await writer.create(NOTES, {})
    assert [note_key("b") in informer.store for informer in informers] == [True, True, False]


async def test_a_writer_whose_fence_raises_sends_nothing() -> None:
    def fence() -> None:
        raise LeadershipLostError("another process may lead")

    client = cast(Client, ScriptedWrites(AssertionError("the write was sent")))
    writer = Writer(client, [], fence)
    body = {"metadata": {"name": "a"}}
    for write in (
        lambda: writer.create(NOTES, body),
        lambda: writer.apply(NOTES, body),
        lambda: writer.patch(NOTES, note_key("a"), body),
        lambda: writer.patch_status(NOTES, note_key("a"), {}),
        lambda: writer.delete(NOTES, note_key("a")),
    ):
        with pytest.raises(LeadershipLostError):
            await write()
