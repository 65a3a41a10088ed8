"""Tests of the cache: it reads one kind across all watched namespaces."""

import asyncio
from random import Random

import pytest
from prometheus_client import CollectorRegistry

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.client.decoding import ObjectList
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.key import ObjectKey
from tests.support.builders.note_resource import NOTES, Note, NoteSpec
from tests.support.clocks.virtual_clock import VirtualClock, run_ready_tasks
from tests.unit.controller.runtime.cache.recording_handler import RecordingHandler
from tests.unit.controller.scripted_source import ScriptedSource


def note_in(namespace: str, name: str, size: int = 0) -> Note:
    meta = ObjectMeta(namespace=namespace, name=name, resource_version="1")
    return Note(metadata=meta, spec=NoteSpec(size=size))


def cache_of(**notes_by_namespace: list[Note]) -> Cache[Note]:
    """Return a cache with one informer per keyword; `everywhere` watches all namespaces."""
    clock, metrics = VirtualClock(), InformerMetrics(CollectorRegistry())
    informers = {}
    for keyword, notes in notes_by_namespace.items():
        namespace = "" if keyword == "everywhere" else keyword
        scope = WatchScope(NOTES, namespace)
        indexers = {"size": lambda note: [str(note.spec.size)]}
        source = ScriptedSource(clock)
        informers[namespace] = Informer(source, scope, metrics, clock, Random(7), indexers)
        informers[namespace].replace(ObjectList(notes, "1"))
    return Cache(informers)


def names(notes: list[Note]) -> list[str]:
    return [note.metadata.name for note in notes]


@pytest.fixture
def per_namespace() -> Cache[Note]:
    return cache_of(red=[note_in("red", "a")], blue=[note_in("blue", "b", 1)])


@pytest.fixture
def cluster_wide() -> Cache[Note]:
    return cache_of(everywhere=[note_in("red", "a"), note_in("blue", "b", 1)])


@pytest.mark.parametrize("layout", ["per_namespace", "cluster_wide"])
class TestEitherLayout:
    @pytest.fixture
    def cache(self, layout: str, request: pytest.FixtureRequest) -> Cache[Note]:
        cache: Cache[Note] = request.getfixturevalue(layout)
        return cache

    def test_the_cache_returns_an_object_by_its_key(self, cache: Cache[Note]) -> None:
        note = cache.get(ObjectKey("blue", "b"))
        assert note is not None
        assert note.spec.size == 1
        assert cache.get(ObjectKey("red", "b")) is None

    def test_the_cache_lists_the_objects_of_all_namespaces(self, cache: Cache[Note]) -> None:
        assert names(cache.all()) == ["a", "b"]

    def test_the_cache_lists_the_objects_of_one_namespace(self, cache: Cache[Note]) -> None:
        assert names(cache.all("blue")) == ["b"]

    def test_the_cache_reads_an_index_in_one_namespace(self, cache: Cache[Note]) -> None:
        assert names(cache.by_index("blue", "size", "1")) == ["b"]
        assert cache.by_index("red", "size", "1") == []

    async def test_a_handler_gets_the_changes_of_one_namespace(self, cache: Cache[Note]) -> None:
        handler = RecordingHandler()
        cache.subscribe(handler, "red")
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in cache.informers]
            await run_ready_tasks()
            for task in tasks:
                task.cancel()
        assert handler.notification_texts == ["new a@1 (backlog)"]


def test_an_unwatched_namespace_cannot_be_listed(per_namespace: Cache[Note]) -> None:
    with pytest.raises(KeyError, match="green"):
        per_namespace.all("green")
    assert per_namespace.get(ObjectKey("green", "a")) is None
    assert per_namespace.by_index("green", "size", "0") == []
