"""A cache of one kind that follows the server, and tells its subscribers of every change."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Generic, TypeVar

from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import ListerWatcher, Reflector, WatchScope
from controller.runtime.cache.store import IndexFunction, Store
from controller.runtime.cache.subscription import ChangeHandler, ChangeNotification, Subscription
from controller.runtime.client.decoding import Change, ObjectList, UndecodableObject
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object, is_older_version
from controller.runtime.clock import Clock
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)

# A watch hears at least a bookmark a minute.
MAX_SILENCE_SECONDS: Final = 120.0
# The watch may tell of our delete before its answer has its turn, but not of this many others too.
MAX_REMEMBERED_DELETES: Final = 1000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PendingDelete:
    """An object that we deleted and whose delete the watch has yet to tell of."""

    uid: str
    resource_version: str

    def supersedes(self, received: Object) -> bool:
        """Whether this is news from before our delete: of the object, or of one before it."""
        meta = received.metadata
        return meta.uid == self.uid or is_older_version(
            meta.resource_version, self.resource_version
        )


class Informer(Generic[T]):
    """One watch and one store, shared by any number of handlers.

    The store is changed and every subscription is told without an await in between, so a handler
    never sees a store older than its notice. What we wrote ourselves is taken in at once (`wrote`,
    `deleted`), and the watch's older news of it is ignored: a reader never sees the state before
    its own write.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher,
        scope: WatchScope[T],
        metrics: InformerMetrics,
        clock: Clock,
        rng: Random,
        indexers: Mapping[str, IndexFunction[T]] | None = None,
    ) -> None:
        self.store: Store[T] = Store(indexers)
        self._scope = scope
        self._metrics = metrics
        self._clock = clock
        self._reflector = Reflector(lister_watcher, scope, self, metrics, clock, rng)
        self._subscriptions: list[Subscription[T]] = []
        self._tasks: asyncio.TaskGroup | None = None
        self._synced = asyncio.Event()
        self._last_sync_version = ""
        self._pending_deletes: dict[ObjectKey, PendingDelete] = {}
        self._deleted_uids: deque[str] = deque(maxlen=MAX_REMEMBERED_DELETES)
        self._reported_versions: dict[ObjectKey, str] = {}
        self._undecodable_handler: Callable[[UndecodableObject], None] = lambda _: None

    @property
    def kind(self) -> Kind[T]:
        return self._scope.kind

    @property
    def name(self) -> str:
        return f"informer {self._scope.kind}"

    def is_responsible_for(self, kind: Kind[Any], namespace: str) -> bool:
        """Whether an object of `kind` in `namespace` belongs into this cache."""
        return kind == self._scope.kind and self._scope.namespace in ("", namespace)

    def subscribe(self, handler: ChangeHandler[T]) -> Subscription[T]:
        """Tell `handler` of everything there is and of every change from now on."""
        errors = self._metrics.handler_errors.labels(str(self._scope.kind))
        subscription = Subscription(handler, errors)
        self._subscriptions.append(subscription)
        for found in self.store.all():
            subscription.send(ChangeNotification(None, found, is_backlog=True))
        if self._synced.is_set():
            subscription.mark_initial_sent()
        if self._tasks is not None:
            self._tasks.create_task(subscription.run(), name=f"{self.name} handler")
        return subscription

    def set_undecodable_handler(self, handler: Callable[[UndecodableObject], None]) -> None:
        """Tell `to`, once a version, of each object that the model cannot hold."""
        self._undecodable_handler = handler

    async def synced(self) -> None:
        """Wait until the store holds the initial list."""
        await self._synced.wait()

    def silent_seconds(self) -> float:
        """How long nothing was heard from the server; infinite before the first list."""
        heard = self._reflector.last_received_at
        return float("inf") if heard is None else self._clock.monotonic() - heard

    def not_ready(self) -> list[str]:
        """Why nobody should rely on the store: nothing in it yet, or nothing heard for long."""
        silent = self.silent_seconds()
        if not self._synced.is_set():
            return [f"{self.name} has not caught up"]
        return (
            [f"{self.name} heard nothing for {silent:.0f} s"]
            if silent > MAX_SILENCE_SECONDS
            else []
        )

    async def run(self) -> None:
        """Follow the server until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._tasks = group
                for subscription in self._subscriptions:
                    group.create_task(subscription.run(), name=f"{self.name} handler")
                group.create_task(self._reflector.run(), name=f"{self.name} reflector")
        finally:
            self._tasks = None

    def observe_write(self, new: T) -> None:
        """Take in what the server answered to our own write, unless the watch is past it."""
        if not is_at_or_before(new.metadata.resource_version, self._last_sync_version):
            self._store_and_notify(new)

    def observe_delete(self, key: ObjectKey, uid: str) -> None:
        """Take in that our own delete removed the object with `uid`, unless the watch told it."""
        if not uid or uid in self._deleted_uids:
            return
        stored = self.store.get(key)
        if stored is None or stored.metadata.uid != uid:
            self._pending_deletes.setdefault(key, PendingDelete(uid, ""))
            return
        self._pending_deletes[key] = PendingDelete(uid, stored.metadata.resource_version)
        self._remove_and_notify(stored)

    def resync(self) -> None:
        """Tell every subscriber of every object once more; asks the server nothing."""
        for found in self.store.all():
            self._notify(ChangeNotification(found, found, is_backlog=True))

    def replace(self, object_list: ObjectList[T]) -> None:
        """Take in a whole list: what is not on it is gone, unless we wrote it after the list.

        A list is never older than what we followed, except where the cluster was restored from a
        backup: then what we have never happened, and only the list counts.
        """
        restored = is_older_version(object_list.resource_version, self._last_sync_version)
        if restored:
            log.warning("history_went_back", extra={"kind": str(self._scope.kind)})
            self._pending_deletes.clear()
            self._deleted_uids.clear()
        self._last_sync_version = object_list.resource_version
        initial = not self._synced.is_set()
        vanished = self._missing_from(object_list, restored=restored)
        changes = [self._store_if_newer(found, restored=restored) for found in object_list.items]
        for stored in vanished:
            self.store.remove(key_of(stored))
            self._deleted_uids.append(stored.metadata.uid)
            self._notify(ChangeNotification(stored, None))
        for notice in changes:
            if notice is not None:
                self._notify(ChangeNotification(notice.old, notice.new, is_backlog=initial))
        for found in object_list.undecodable:
            self._report_undecodable(found)
        self._forget_except(object_list)
        self._finish_sync()

    def handle_change(self, change: Change[T]) -> None:
        """Take in one event of the watch."""
        found, self._last_sync_version = change.object, change.object.metadata.resource_version
        if change.is_deleted:
            self._handle_deleted(key_of(found), found.metadata.uid, found)
        else:
            self._store_and_notify(found)

    def handle_undecodable(self, undecodable: UndecodableObject) -> None:
        """Take in an event whose object the model cannot hold.

        The last version that could be read stays: a reader must not take it for deleted.
        """
        self._last_sync_version = undecodable.resource_version or self._last_sync_version
        if undecodable.is_deleted:
            self._handle_deleted(undecodable.key, undecodable.uid, None)
        else:
            self._report_undecodable(undecodable)

    def _report_undecodable(self, undecodable: UndecodableObject) -> None:
        """Say that an object cannot be read, once a version."""
        if self._reported_versions.get(undecodable.key) == undecodable.resource_version:
            return
        self._reported_versions[undecodable.key] = undecodable.resource_version
        self._metrics.undecodable.labels(str(self._scope.kind)).inc()
        log.error(
            "object_unreadable",
            extra={
                "kind": str(self._scope.kind),
                "object": str(undecodable.key),
                "error": undecodable.error,
            },
        )
        self._undecodable_handler(undecodable)

    def _missing_from(self, object_list: ObjectList[T], *, restored: bool) -> list[T]:
        """What is stored and neither listed nor written by us after the list."""
        listed = {key_of(found) for found in object_list.items}
        unread = {(found.key, found.uid) for found in object_list.undecodable}
        return [
            stored
            for stored in self.store.all()
            if key_of(stored) not in listed
            and (key_of(stored), stored.metadata.uid) not in unread
            and (
                restored
                or not is_older_version(self._last_sync_version, stored.metadata.resource_version)
            )
        ]

    def _forget_except(self, object_list: ObjectList[T]) -> None:
        """Drop what was remembered of objects that the list shows to be over and done with."""
        unread = {found.key: found.uid for found in object_list.undecodable}
        listed = {key_of(found): found.metadata.uid for found in object_list.items} | unread
        self._pending_deletes = {
            key: own
            for key, own in self._pending_deletes.items()
            if listed.get(key) == own.uid
            or is_older_version(self._last_sync_version, own.resource_version)
        }
        self._reported_versions = {
            key: version for key, version in self._reported_versions.items() if key in unread
        }

    def _finish_sync(self) -> None:
        self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))
        if not self._synced.is_set():
            self._synced.set()
            for subscription in self._subscriptions:
                subscription.mark_initial_sent()

    def _store_and_notify(self, new: T) -> None:
        notice = self._store_if_newer(new)
        if notice is not None:
            self._notify(notice)
            self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))

    def _store_if_newer(self, new: T, *, restored: bool = False) -> ChangeNotification[T] | None:
        """Store `new` unless it is no news; what subscribers are to be told."""
        key = key_of(new)
        old, own = self.store.get(key), self._pending_deletes.get(key)
        if own is not None and own.supersedes(new):
            return None
        if old is not None and is_stale(old, new, restored=restored):
            return None
        self.store.put(new)
        self._reported_versions.pop(key, None)
        return ChangeNotification(old, new)

    def _handle_deleted(self, key: ObjectKey, uid: str, last_state: T | None) -> None:
        """Take in that the watch is past a delete; a successor that we made already stays."""
        self._reported_versions.pop(key, None)
        self._deleted_uids.append(uid)
        own = self._pending_deletes.get(key)
        if own is not None and own.uid == uid:
            del self._pending_deletes[key]
        stored = self.store.get(key)
        if stored is not None and stored.metadata.uid == uid:
            self._remove_and_notify(last_state or stored)

    def _remove_and_notify(self, last_state: T) -> None:
        self.store.remove(key_of(last_state))
        self._notify(ChangeNotification(last_state, None))
        self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))

    def _notify(self, notification: ChangeNotification[T]) -> None:
        for subscription in self._subscriptions:
            subscription.send(notification)


def is_at_or_before(version: str, last_version: str) -> bool:
    """Whether whoever followed the server up to `followed` was told of `version`."""
    return version == last_version or is_older_version(version, last_version)


def is_stale(old: Object, new: Object, *, restored: bool) -> bool:
    """Whether `new` is what we have, or something that was before it."""
    ours, theirs = old.metadata.resource_version, new.metadata.resource_version
    return ours == theirs or (is_older_version(theirs, ours) and not restored)
