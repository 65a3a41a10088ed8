"""Properties of the store: it equals a dict, and each index equals one computed from that dict."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from controller.runtime.cache.store import Store
from controller.runtime.client.objects import ObjectMeta
from controller.runtime.key import ObjectKey
from tests.support.builders.note_resource import Note

NAMESPACES = ["x", "y"]
KEYS = st.builds(ObjectKey, st.sampled_from(NAMESPACES), st.sampled_from(["a", "b", "c"]))
LABELS = st.sampled_from(["red", "green", "blue"])


def labels(note: Note) -> list[str]:
    """Return the index values of an object: none, one or several, possibly with duplicates."""
    if "raise" in note.metadata.labels:
        raise ValueError("this object cannot be indexed")
    return list(note.metadata.labels.values())


def expected_labels(note: Note) -> set[str]:
    return set() if "raise" in note.metadata.labels else set(note.metadata.labels.values())


class StoreMachine(RuleBasedStateMachine):
    """State machine that puts and removes objects in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store({"label": labels, "namespace": lambda note: [note.metadata.namespace]})
        self.model: dict[ObjectKey, Note] = {}

    @rule(key=KEYS, note_labels=st.dictionaries(st.sampled_from(["p", "q", "r", "raise"]), LABELS))
    def put(self, key: ObjectKey, note_labels: dict[str, str]) -> None:
        meta = ObjectMeta(namespace=key.namespace, name=key.name, labels=note_labels)
        note = Note(metadata=meta)
        assert self.store.put(note) is self.model.get(key)
        self.model[key] = note

    @rule(key=KEYS)
    def remove(self, key: ObjectKey) -> None:
        assert self.store.remove(key) is self.model.pop(key, None)

    @invariant()
    def the_store_has_the_objects_of_the_model(self) -> None:
        assert {key: self.store.get(key) for key in self.store} == self.model
        assert len(self.store) == len(self.model)

    @invariant()
    def the_store_lists_the_objects_of_a_namespace(self) -> None:
        for namespace in NAMESPACES:
            expected = [note for key, note in self.model.items() if key.namespace == namespace]
            assert same(self.store.all(namespace), expected)
            assert same(self.store.by_index("namespace", namespace), expected)
        assert same(self.store.all(), list(self.model.values()))

    @invariant()
    def the_index_has_the_labels_of_the_model_and_no_empty_value(self) -> None:
        expected: dict[str, list[Note]] = {}
        for note in self.model.values():
            for label in expected_labels(note):
                expected.setdefault(label, []).append(note)
        assert set(self.store.index_values("label")) == set(expected)
        for label, notes in expected.items():
            assert same(self.store.by_index("label", label), notes)


def same(actual: list[Note], expected: list[Note]) -> bool:
    """Return whether both lists have the same objects; the store does not guarantee an order."""

    def identities(notes: list[Note]) -> list[Any]:
        return sorted(id(note) for note in notes)

    return identities(actual) == identities(expected)


TestStoreIsADict = StoreMachine.TestCase
TestStoreIsADict.settings = settings(max_examples=60, stateful_step_count=30)
