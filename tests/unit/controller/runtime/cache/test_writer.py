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
    """Client for writes that returns a scripted answer; implements the writing verbs of Client."""

    def __init__(self, answer: Note | DeleteResult[Note] | Exception) -> None:
        self._answer = answer

    async def create(self, kind: Kind[Any], body: Body) -> Any:
        return self._given()

    async def apply(self, kind: Kind[Any], body: Body, subresource: str, *, force: bool) -> Any:
        return self._given()

    async def patch(self, kind: Kind[Any], key: ObjectKey, body: Body, subresource: str) -> Any:
        return self._given()

    async def patch_status(self, kind: Kind[Any], key: ObjectKey, status: Body) -> Any:
        return self._given()

    async def delete(
        self,
        kind: Kind[Any],
        key: ObjectKey,
        condition: Preconditions | None,
        propagation: Propagation,
    ) -> Any:
        return self._given()

    def _given(self) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def an_informer(namespace: str = "") -> Informer[Note]:
    """Return an informer whose initial list was `a` at version 1."""
    clock = VirtualClock()
    metrics, randomness = InformerMetrics(CollectorRegistry()), Random(7)
    scope = WatchScope(NOTES, namespace)
    informer = Informer(ScriptedSource(clock), scope, metrics, clock, randomness)
    informer.replace(listing(10, new_note("a", 1)))
    return informer


def a_writer(answer: Note | DeleteResult[Note] | Exception, *informers: Informer[Note]) -> Writer:
    return Writer(cast(Client, ScriptedWrites(answer)), informers)


@pytest.mark.parametrize("verb", ["create", "apply", "patch", "patch_status"])
async def test_a_written_object_can_be_read_from_the_cache_at_once(verb: str) -> None:
    informer, written = an_informer(), new_note("a", 11)
    writer = a_writer(written, informer)
    arguments = [{}] if verb in ("create", "apply") else [note_key("a"), {}]
    assert await getattr(writer, verb)(NOTES, *arguments) == written
    assert informer.store.get(note_key("a")) is written


async def test_a_deleted_object_is_gone_from_the_cache_at_once() -> None:
    informer = an_informer()
    await a_writer(DeleteResult(None, "uid-a"), informer).delete(NOTES, note_key("a"))
    assert note_key("a") not in informer.store


async def test_a_terminating_object_can_be_read_from_the_cache() -> None:
    informer, waiting = an_informer(), new_note("a", 11)
    await a_writer(DeleteResult(waiting, "uid-a"), informer).delete(NOTES, note_key("a"))
    assert informer.store.get(note_key("a")) is waiting


async def test_a_write_that_was_refused_changes_nothing() -> None:
    informer = an_informer()
    with pytest.raises(ConflictError):
        await a_writer(ConflictError("no", status=409), informer).delete(NOTES, note_key("a"))
    assert informer.store.get(note_key("a")) == new_note("a", 1)


async def test_every_cache_that_covers_the_object_has_the_write_and_no_other() -> None:
    everywhere, there, elsewhere = an_informer(), an_informer("ns"), an_informer("another")
    writer = a_writer(new_note("b", 11), everywhere, there, elsewhere)
    await writer.create(NOTES, {})
    assert [note_key("b") in each.store for each in (everywhere, there, elsewhere)] == [
        True,
        True,
        False,
    ]


async def test_a_writer_that_may_not_write_sends_nothing() -> None:
    def fence() -> None:
        raise LeadershipLostError("another process may lead")

    client = cast(Client, ScriptedWrites(AssertionError("it was sent")))
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
