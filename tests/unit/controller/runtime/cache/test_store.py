"""Tests of the store: reads by key and by index."""

from collections.abc import Iterable

import pytest

from controller.runtime.cache.store import Store
from tests.support.builders.note_resource import Note
from tests.unit.controller.runtime.note_watch_events import new_note, note_key


def by_size(note: Note) -> Iterable[str]:
    return [str(note.spec.size)]


def failing_indexer(note: Note) -> Iterable[str]:
    if note.spec.size > 5:
        raise ValueError("the size is too large")
    return [str(note.spec.size)]


def test_the_store_returns_the_last_put_object() -> None:
    store: Store[Note] = Store()
    assert store.put(new_note("a", 1)) is None
    assert store.put(new_note("a", 2)) == new_note("a", 1)
    assert store.get(note_key("a")) == new_note("a", 2)
    assert (note_key("a") in store, len(store), list(store)) == (True, 1, [note_key("a")])


def test_a_removed_object_is_not_found() -> None:
    store: Store[Note] = Store()
    store.put(new_note("a", 1))
    assert store.remove(note_key("a")) == new_note("a", 1)
    assert store.remove(note_key("a")) is None
    assert (store.get(note_key("a")), note_key("a") in store, len(store)) == (None, False, 0)


def test_readers_receive_the_stored_object_itself() -> None:
    store: Store[Note] = Store()
    note = new_note("a", 1)
    store.put(note)
    assert store.get(note_key("a")) is note
    assert store.all()[0] is note


def test_all_objects_can_be_limited_to_a_namespace() -> None:
    store: Store[Note] = Store()
    store.put(new_note("a", 1))
    assert [len(store.all(namespace)) for namespace in ("", "ns", "another")] == [1, 1, 0]


def test_a_returned_list_does_not_change_with_the_store() -> None:
    store: Store[Note] = Store({"size": by_size})
    store.put(new_note("a", 1))
    objects, indexed = store.all(), store.by_index("size", "0")
    store.remove(note_key("a"))
    assert len(objects) == len(indexed) == 1


def test_a_changed_object_moves_to_its_new_index_value() -> None:
    store = Store({"size": by_size})
    store.put(new_note("a", 1, size=1))
    store.put(new_note("a", 2, size=2))
    assert (store.by_index("size", "1"), store.index_values("size")) == ([], ["2"])
    assert store.by_index("size", "2") == [new_note("a", 2, size=2)]


def test_an_index_value_without_objects_is_removed() -> None:
    store = Store({"size": by_size})
    for size in range(100):
        store.put(new_note("a", size + 1, size=size))
    store.remove(note_key("a"))
    assert store.index_values("size") == []


def test_an_indexer_that_raises_leaves_the_object_out_of_its_index_only() -> None:
    store = Store({"failing_indexer": failing_indexer, "size": by_size})
    store.put(new_note("a", 1, size=9))
    assert store.get(note_key("a")) is not None
    assert (store.index_values("failing_indexer"), store.index_values("size")) == ([], ["9"])


def test_an_object_is_indexed_again_when_its_indexer_no_longer_raises() -> None:
    store = Store({"failing_indexer": failing_indexer})
    for version, size in enumerate([1, 9, 2], start=1):
        store.put(new_note("a", version, size=size))
    assert store.index_values("failing_indexer") == ["2"]
    store.put(new_note("a", 4, size=9))
    assert store.index_values("failing_indexer") == []


def test_a_repeated_index_value_counts_once() -> None:
    store: Store[Note] = Store({"twice": lambda _: ["x", "x"]})
    store.put(new_note("a", 1))
    assert len(store.by_index("twice", "x")) == 1
    store.remove(note_key("a"))
    assert store.index_values("twice") == []


def test_reading_an_unknown_index_raises_key_error() -> None:
    with pytest.raises(KeyError):
        Store[Note]().by_index("absent", "x")
