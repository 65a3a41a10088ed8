"""Properties of the informer: its store ends equal to the server in every order of inputs.

The server here is a history: versions that only grow, and a state for each version. The watch
follows the history at its own pace, lists may be as old as the watch, and the responses to own
writes may arrive long before or after the watch event.
"""

import itertools
from dataclasses import dataclass
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from prometheus_client import CollectorRegistry

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import WatchScope
from controller.runtime.cache.subscription import ChangeNotification
from controller.runtime.client.decoding import Change, ObjectList
from tests.support.builders.note_resource import NOTES, Note
from tests.support.clocks.virtual_clock import VirtualClock
from tests.unit.controller.runtime.note_watch_events import (
    deleted_change,
    new_note,
    note_key,
    put_change,
)
from tests.unit.controller.scripted_source import ScriptedSource

NAMES = ["a", "b", "c"]
A_NAME = st.sampled_from(NAMES)


@dataclass(frozen=True)
class Entry:
    """One change in the history: the object, or its delete."""

    name: str
    version: int
    uid: str
    gone: bool

    @property
    def event(self) -> Change[Note]:
        if self.gone:
            return deleted_change(self.name, self.version, self.uid)
        return put_change(new_note(self.name, self.version, self.uid))


class History:
    """Objects of a server at every version; versions have gaps, as on a real server."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.version = 5
        self._uids = itertools.count()

    def put(self, name: str) -> Entry:
        before = self.at(self.version).get(name)
        uid = before.uid if before else f"{name}-{next(self._uids)}"
        return self._add(name, uid, gone=False)

    def delete(self, name: str) -> Entry:
        return self._add(name, self.at(self.version)[name].uid, gone=True)

    def restore(self, version: int) -> None:
        """Restore a backup: remove all changes after the version."""
        self.entries = [entry for entry in self.entries if entry.version <= version]
        self.version = version

    def at(self, version: int) -> dict[str, Entry]:
        """Return the objects that existed at a version."""
        alive: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.version <= version:
                alive.pop(entry.name, None)
                if not entry.gone:
                    alive[entry.name] = entry
        return alive

    def after(self, version: int) -> list[Entry]:
        return [entry for entry in self.entries if entry.version > version]

    def _add(self, name: str, uid: str, *, gone: bool) -> Entry:
        self.version += 2
        entry = Entry(name, self.version, uid, gone)
        self.entries.append(entry)
        return entry


class NoticeReplica:
    """Copy of the objects built from notifications alone; each notification must fit the copy."""

    def __init__(self) -> None:
        self.objects: dict[str, Note] = {}

    def __call__(self, notice: ChangeNotification[Note]) -> None:
        known = notice.new or notice.old
        assert known is not None
        name = known.metadata.name
        assert (notice.old is None) == (name not in self.objects), f"{name}: {notice}"
        if notice.new is None:
            del self.objects[name]
        else:
            self.objects[name] = notice.new


class InformerMachine(RuleBasedStateMachine):
    """State machine with other clients' writes, own writes, a lagging watch and old lists."""

    def __init__(self) -> None:
        super().__init__()
        clock, metrics = VirtualClock(), InformerMetrics(CollectorRegistry())
        self.informer: Informer[Note] = Informer(
            ScriptedSource(clock),
            WatchScope(NOTES),
            metrics,
            clock,
            Random(7),
        )
        self.history = History()
        self.replica = NoticeReplica()
        self.subscription = self.informer.subscribe(self.replica)
        self.position: int | None = None
        self.unanswered: list[Entry] = []
        self.answered: dict[str, int] = {}
        self.deleted_unseen: dict[str, int] = {}

    # The server and other clients.

    @rule(name=A_NAME)
    def others_put(self, name: str) -> None:
        self.history.put(name)

    @rule(name=A_NAME)
    def others_delete(self, name: str) -> None:
        if name in self.history.at(self.history.version):
            self.history.delete(name)

    # Own writes, whose response comes at once or later.

    @rule(name=A_NAME)
    def we_put(self, name: str) -> None:
        self._answer(self.history.put(name))

    @rule(name=A_NAME)
    def we_delete_what_we_see(self, name: str) -> None:
        """Delete an object on the condition that it is still the cached one, like a reconciler."""
        seen = self.informer.store.get(note_key(name))
        there = self.history.at(self.history.version).get(name)
        if seen is not None and there is not None and seen.metadata.uid == there.uid:
            self._answer(self.history.delete(name))

    @rule(name=A_NAME, put=st.booleans())
    def we_write_and_the_answer_takes_its_time(self, name: str, put: bool) -> None:
        if put or name not in self.history.at(self.history.version):
            self.unanswered.append(self.history.put(name))
        else:
            self.unanswered.append(self.history.delete(name))

    @precondition(lambda self: self.unanswered)
    @rule(data=st.data())
    def a_late_answer_comes(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.unanswered))
        self.unanswered.remove(entry)
        self._answer(entry)
        if entry.gone:
            self.deleted_unseen[entry.name] = entry.version

    # The watch and lists.

    @rule(data=st.data())
    def a_list_comes(self, data: st.DataObject) -> None:
        """List at a version not older than the watch; the first list may have any age."""
        oldest = 5 if self.position is None else self.position
        version = data.draw(st.integers(oldest, self.history.version))
        self._list(version)

    @precondition(lambda self: self.position is not None)
    @rule(most=st.integers(1, 5))
    def the_watch_tells(self, most: int) -> None:
        assert self.position is not None
        for entry in self.history.after(self.position)[:most]:
            self.informer.handle_change(entry.event)
            self.position = entry.version

    @precondition(lambda self: self.position is not None and self.position > 5)
    @rule(data=st.data())
    def the_cluster_is_restored_from_a_backup(self, data: st.DataObject) -> None:
        assert self.position is not None
        self.history.restore(data.draw(st.integers(5, self.position - 1)))
        self.unanswered.clear()
        self.answered.clear()
        self.deleted_unseen.clear()
        self._list(self.history.version)

    # Invariants.

    @invariant()
    def notices_and_store_agree(self) -> None:
        while self.subscription._pending:
            self.replica(self.subscription._pending.popleft())
        held = {note.metadata.name: note for note in self.informer.store.all()}
        assert self.replica.objects == held

    @invariant()
    def nobody_reads_what_was_before_an_own_write(self) -> None:
        """Check each object: its state is that of the watch, or of a later answered own write.

        An older object may reappear only after an own delete of an object that was not in the
        cache.
        """
        if self.position is None:
            return
        for name in NAMES:
            if self.position < self.deleted_unseen.get(name, 0):
                continue
            moment = max(self.position, self.answered.get(name, 0))
            expected = self.history.at(moment).get(name)
            found = self.informer.store.get(note_key(name))
            version = None if found is None else int(found.metadata.resource_version)
            assert version == (expected and expected.version), f"{name} at {moment}"

    def teardown(self) -> None:
        """Check that all copies equal the server's objects after everything was delivered."""
        if self.position is None:
            self._list(self.history.version)
        for entry in self.unanswered:
            self._answer(entry)
        self.the_watch_tells(len(self.history.entries) + 1)
        self.notices_and_store_agree()
        held = {
            note.metadata.name: int(note.metadata.resource_version)
            for note in self.informer.store.all()
        }
        there = self.history.at(self.history.version)
        assert held == {name: entry.version for name, entry in there.items()}

    def _list(self, version: int) -> None:
        items = [
            new_note(entry.name, entry.version, entry.uid)
            for entry in self.history.at(version).values()
        ]
        self.informer.replace(ObjectList(items, str(version)))
        self.position = version

    def _answer(self, entry: Entry) -> None:
        self.answered[entry.name] = max(self.answered.get(entry.name, 0), entry.version)
        if entry.gone:
            self.informer.observe_delete(note_key(entry.name), entry.uid)
        else:
            self.informer.observe_write(new_note(entry.name, entry.version, entry.uid))


TestInformerFollowsHistory = InformerMachine.TestCase
TestInformerFollowsHistory.settings = settings(
    max_examples=150, stateful_step_count=30, deadline=None
)
