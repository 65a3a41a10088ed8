"""Tests of the store: reads by key and by index."""

from collections.abc import Iterable

import pytest

from controller.runtime.cache.store import Store
from tests.support.builders.note_resource import Note
from tests.unit.controller.runtime.note_watch_events import new_note, note_key


def by_size(note: Note) -> Iterable[str]:
    return [str(note.spec.size)]


def fussy(note: Note) -> Iterable[str]:
    if note.spec.size > 5:
        raise ValueError("too large for me")
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


def test_readers_get_the_stored_value_itself() -> None:
    store: Store[Note] = Store()
    note = new_note("a", 1)
    store.put(note)
    assert store.get(note_key("a")) is note
    assert store.all()[0] is note


def test_all_objects_can_be_limited_to_a_namespace() -> None:
    store: Store[Note] = Store()
    store.put(new_note("a", 1))
    assert [len(store.all(namespace)) for namespace in ("", "ns", "another")] == [1, 1, 0]


def test_a_list_that_a_reader_holds_does_not_change_under_it() -> None:
    store: Store[Note] = Store({"size": by_size})
    store.put(new_note("a", 1))
    everything, sized = store.all(), store.by_index("size", "0")
    store.remove(note_key("a"))
    assert len(everything) == len(sized) == 1


def test_an_index_follows_its_object() -> None:
    store = Store({"size": by_size})
    store.put(new_note("a", 1, size=1))
    store.put(new_note("a", 2, size=2))
    assert (store.by_index("size", "1"), store.index_values("size")) == ([], ["2"])
    assert store.by_index("size", "2") == [new_note("a", 2, size=2)]


def test_a_value_of_which_no_object_is_left_is_not_kept() -> None:
    store = Store({"size": by_size})
    for size in range(100):
        store.put(new_note("a", size + 1, size=size))
    store.remove(note_key("a"))
    assert store.index_values("size") == []


def test_an_indexer_that_raises_leaves_the_object_out_of_its_index_only() -> None:
    store = Store({"fussy": fussy, "size": by_size})
    store.put(new_note("a", 1, size=9))
    assert store.get(note_key("a")) is not None
    assert (store.index_values("fussy"), store.index_values("size")) == ([], ["9"])


def test_an_object_returns_to_its_index_when_the_indexer_can_say_something_again() -> None:
    store = Store({"fussy": fussy})
    for version, size in enumerate([1, 9, 2], start=1):
        store.put(new_note("a", version, size=size))
    assert store.index_values("fussy") == ["2"]
    store.put(new_note("a", 4, size=9))
    assert store.index_values("fussy") == []


def test_a_value_given_twice_counts_once() -> None:
    store: Store[Note] = Store({"twice": lambda _: ["x", "x"]})
    store.put(new_note("a", 1))
    assert len(store.by_index("twice", "x")) == 1
    store.remove(note_key("a"))
    assert store.index_values("twice") == []


def test_an_unknown_index_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(KeyError):
        Store[Note]().by_index("absent", "x")
