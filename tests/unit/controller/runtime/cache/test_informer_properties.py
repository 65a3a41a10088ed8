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
    is_delete: bool

    @property
    def event(self) -> Change[Note]:
        if self.is_delete:
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
        return self._add(name, uid, is_delete=False)

    def delete(self, name: str) -> Entry:
        return self._add(name, self.at(self.version)[name].uid, is_delete=True)

    def restore(self, version: int) -> None:
        """Restore a backup: remove all changes after the version."""
        self.entries = [entry for entry in self.entries if entry.version <= version]
        self.version = version

    def at(self, version: int) -> dict[str, Entry]:
        """Return the objects that existed at a version."""
        objects: dict[str, Entry] = {}
        for entry in self.entries:
            if entry.version <= version:
                objects.pop(entry.name, None)
                if not entry.is_delete:
                    objects[entry.name] = entry
        return objects

    def after(self, version: int) -> list[Entry]:
        return [entry for entry in self.entries if entry.version > version]

    def _add(self, name: str, uid: str, *, is_delete: bool) -> Entry:
        self.version += 2
        entry = Entry(name, self.version, uid, is_delete)
        self.entries.append(entry)
        return entry


class NotificationReplica:
    """Copy of the objects built from notifications alone; each notification must fit the copy."""

    def __init__(self) -> None:
        self.objects: dict[str, Note] = {}

    def __call__(self, notification: ChangeNotification[Note]) -> None:
        state = notification.new or notification.old
        assert state is not None
        name = state.metadata.name
        assert (notification.old is None) == (name not in self.objects), f"{name}: {notification}"
        if notification.new is None:
            del self.objects[name]
        else:
            self.objects[name] = notification.new


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
        self.replica = NotificationReplica()
        self.subscription = self.informer.subscribe(self.replica)
        self.position: int | None = None
        self.pending_writes: list[Entry] = []
        self.written_versions: dict[str, int] = {}
        self.unseen_deletes: dict[str, int] = {}

    # The server and other clients.

    @rule(name=A_NAME)
    def others_put(self, name: str) -> None:
        self.history.put(name)

    @rule(name=A_NAME)
    def others_delete(self, name: str) -> None:
        if name in self.history.at(self.history.version):
            self.history.delete(name)

    # Own writes, whose response arrives at once or later.

    @rule(name=A_NAME)
    def we_put(self, name: str) -> None:
        self._respond(self.history.put(name))

    @rule(name=A_NAME)
    def we_delete_a_cached_object(self, name: str) -> None:
        """Delete an object on the condition that it is still the cached one, like a reconciler."""
        cached = self.informer.store.get(note_key(name))
        existing = self.history.at(self.history.version).get(name)
        if cached is not None and existing is not None and cached.metadata.uid == existing.uid:
            self._respond(self.history.delete(name))

    @rule(name=A_NAME, put=st.booleans())
    def we_write_and_the_response_is_delayed(self, name: str, put: bool) -> None:
        if put or name not in self.history.at(self.history.version):
            self.pending_writes.append(self.history.put(name))
        else:
            self.pending_writes.append(self.history.delete(name))

    @precondition(lambda self: self.pending_writes)
    @rule(data=st.data())
    def a_delayed_response_arrives(self, data: st.DataObject) -> None:
        entry = data.draw(st.sampled_from(self.pending_writes))
        self.pending_writes.remove(entry)
        self._respond(entry)
        if entry.is_delete:
            self.unseen_deletes[entry.name] = entry.version

    # The watch and lists.

    @rule(data=st.data())
    def a_list_arrives(self, data: st.DataObject) -> None:
        """List at a version not older than the watch; the first list may have any age."""
        oldest = 5 if self.position is None else self.position
        version = data.draw(st.integers(oldest, self.history.version))
        self._list(version)

    @precondition(lambda self: self.position is not None)
    @rule(max_count=st.integers(1, 5))
    def the_watch_reports(self, max_count: int) -> None:
        assert self.position is not None
        for entry in self.history.after(self.position)[:max_count]:
            self.informer.handle_change(entry.event)
            self.position = entry.version

    @precondition(lambda self: self.position is not None and self.position > 5)
    @rule(data=st.data())
    def the_cluster_is_restored_from_a_backup(self, data: st.DataObject) -> None:
        assert self.position is not None
        self.history.restore(data.draw(st.integers(5, self.position - 1)))
        self.pending_writes.clear()
        self.written_versions.clear()
        self.unseen_deletes.clear()
        self._list(self.history.version)

    # Invariants.

    @invariant()
    def notifications_and_store_agree(self) -> None:
        while self.subscription._pending:
            self.replica(self.subscription._pending.popleft())
        stored = {note.metadata.name: note for note in self.informer.store.all()}
        assert self.replica.objects == stored

    @invariant()
    def no_state_is_older_than_an_own_write(self) -> None:
        """Check each object: its state is that of the watch, or of a later completed own write.

        An older object may reappear only after an own delete of an object that was not in the
        cache.
        """
        if self.position is None:
            return
        for name in NAMES:
            if self.position < self.unseen_deletes.get(name, 0):
                continue
            version = max(self.position, self.written_versions.get(name, 0))
            expected = self.history.at(version).get(name)
            stored = self.informer.store.get(note_key(name))
            stored_version = None if stored is None else int(stored.metadata.resource_version)
            assert stored_version == (expected and expected.version), f"{name} at {version}"

    def teardown(self) -> None:
        """Check that all copies equal the server's objects after everything was delivered."""
        if self.position is None:
            self._list(self.history.version)
        for entry in self.pending_writes:
            self._respond(entry)
        self.the_watch_reports(len(self.history.entries) + 1)
        self.notifications_and_store_agree()
        stored = {
            note.metadata.name: int(note.metadata.resource_version)
            for note in self.informer.store.all()
        }
        existing = self.history.at(self.history.version)
        assert stored == {name: entry.version for name, entry in existing.items()}

    def _list(self, version: int) -> None:
        items = [
            new_note(entry.name, entry.version, entry.uid)
            for entry in self.history.at(version).values()
        ]
        self.informer.replace(ObjectList(items, str(version)))
        self.position = version

    def _respond(self, entry: Entry) -> None:
        self.written_versions[entry.name] = max(
            self.written_versions.get(entry.name, 0), entry.version
        )
        if entry.is_delete:
            self.informer.observe_delete(note_key(entry.name), entry.uid)
        else:
            self.informer.observe_write(new_note(entry.name, entry.version, entry.uid))


TestInformerFollowsHistory = InformerMachine.TestCase
TestInformerFollowsHistory.settings = settings(
    max_examples=150, stateful_step_count=30, deadline=None
)
