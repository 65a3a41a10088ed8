"""Tests of interning: objects with shared equal parts equal the original objects."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.runtime.client import interning
from controller.runtime.client.interning import TRIAL_OBJECTS, Interner
from controller.runtime.client.objects import ObjectMeta


class Port(msgspec.Struct, frozen=True):
    """Immutable part, which can be shared as a whole."""

    name: str
    number: int
    secure: bool = False


class Loose(msgspec.Struct):
    """Mutable part, which has no hash."""

    note: str = ""


class Thing(msgspec.Struct, frozen=True):
    """Object with every kind of field that a model has."""

    metadata: ObjectMeta
    ports: tuple[Port, ...] = ()
    main: Port | None = None
    loose: Loose = msgspec.field(default_factory=Loose)
    lines: list[str] = []
    inner: "Thing | None" = None


texts = st.sampled_from(["", "a", "b", "1", "true"])
ports = st.builds(Port, texts, st.integers(0, 1), st.booleans())
metadata = st.builds(
    ObjectMeta,
    name=texts,
    uid=st.text(max_size=3),
    generation=st.integers(0, 3),
    labels=st.dictionaries(texts, texts),
    finalizers=st.tuples(texts),
)
things = st.builds(
    Thing,
    metadata,
    st.lists(ports, max_size=3).map(tuple),
    st.none() | ports,
    st.builds(Loose, texts),
    st.lists(texts, max_size=2),
    st.builds(Thing, metadata) | st.none(),
)


@given(st.lists(things, min_size=1, max_size=20))
def test_an_interned_object_encodes_to_the_same_text(originals: list[Thing]) -> None:
    intern = Interner(Thing)
    before = [msgspec.json.encode(thing) for thing in originals]
    interned = [intern(msgspec.json.decode(text, type=Thing)) for text in before]
    assert [msgspec.json.encode(thing) for thing in interned] == before


def new_thing(number: int) -> Thing:
    meta = ObjectMeta(name=f"thing-{number}", labels={"team": "blue", "app": "web"})
    thing = Thing(meta, (Port("http", 80), Port("ssh", 22)), Port("http", 80))
    return msgspec.json.decode(msgspec.json.encode(thing), type=Thing)


def test_equal_parts_become_one_part() -> None:
    intern = Interner(Thing)
    first, *_, last = [intern(new_thing(number)) for number in range(TRIAL_OBJECTS + 10)]
    assert first.metadata.labels is last.metadata.labels
    assert first.ports is last.ports
    assert first.main is last.main


def test_a_number_is_never_replaced_by_an_equal_boolean() -> None:
    intern = Interner(Thing)
    with_number = intern(Thing(ObjectMeta(), (Port("p", 1),)))
    with_boolean = intern(Thing(ObjectMeta(), (Port("p", 0, secure=True),)))
    assert (with_number.ports[0].number, with_number.ports[0].secure) == (1, False)
    assert (with_boolean.ports[0].number, with_boolean.ports[0].secure) == (0, True)


def test_the_intern_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "MAX_TABLE_SIZE", 10)
    intern = Interner(Thing)
    for number in range(100):
        meta = ObjectMeta(name=f"n{number}", labels={f"k{number}": f"v{number}"})
        intern(Thing(meta))
    assert all(len(table) <= 10 for table in intern._tables.values())


def test_a_value_that_is_not_a_struct_is_not_interned() -> None:
    intern: Interner[dict[str, str]] = Interner(dict)
    value = {"a": "b"}
    assert intern(value) is value
