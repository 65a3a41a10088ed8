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
def test_a_shared_object_is_written_as_it_was(many: list[Thing]) -> None:
    share = Interner(Thing)
    before = [msgspec.json.encode(each) for each in many]
    shared = [share(msgspec.json.decode(text, type=Thing)) for text in before]
    assert [msgspec.json.encode(each) for each in shared] == before


def a_thing(number: int) -> Thing:
    meta = ObjectMeta(name=f"thing-{number}", labels={"team": "blue", "app": "web"})
    made = Thing(meta, (Port("http", 80), Port("ssh", 22)), Port("http", 80))
    return msgspec.json.decode(msgspec.json.encode(made), type=Thing)


def test_parts_that_repeat_are_kept_once() -> None:
    share = Interner(Thing)
    first, *_, last = [share(a_thing(number)) for number in range(TRIAL_OBJECTS + 10)]
    assert first.metadata.labels is last.metadata.labels
    assert first.ports is last.ports
    assert first.main is last.main


def test_a_number_is_never_taken_for_a_truth_value() -> None:
    share = Interner(Thing)
    one = share(Thing(ObjectMeta(), (Port("p", 1),)))
    true = share(Thing(ObjectMeta(), (Port("p", 0, secure=True),)))
    assert (one.ports[0].number, one.ports[0].secure) == (1, False)
    assert (true.ports[0].number, true.ports[0].secure) == (0, True)


def test_the_intern_table_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "MAX_TABLE_SIZE", 10)
    share = Interner(Thing)
    for number in range(100):
        meta = ObjectMeta(name=f"n{number}", labels={f"k{number}": f"v{number}"})
        share(Thing(meta))
    assert all(len(table) <= 10 for table in share._tables.values())


def test_a_model_that_is_no_struct_is_left_alone() -> None:
    share: Interner[dict[str, str]] = Interner(dict)
    value = {"a": "b"}
    assert share(value) is value
