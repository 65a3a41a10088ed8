"""The informer: a cache of one kind that follows the server and notifies its subscribers."""

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

# A watch receives at least one bookmark per minute.
MAX_SILENCE_SECONDS: Final = 120.0
# The watch may report our delete before its response is handled, but not after this many others.
MAX_REMEMBERED_DELETES: Final = 1000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PendingDelete:
    """An object that we deleted; the watch has not reported the delete yet."""

    uid: str
    resource_version: str

    def supersedes(self, received: Object) -> bool:
        """Whether `received` is a state from before our delete."""
        meta = received.metadata
        return meta.uid == self.uid or is_older_version(
            meta.resource_version, self.resource_version
        )


class Informer(Generic[T]):
    """One watch and one store, shared by any number of handlers.

    The store is changed and every subscription notified without an await in between, so a handler
    never reads a store that is older than its notification. The results of our own writes enter at
    once (`observe_write`, `observe_delete`), and older states from the watch are ignored: a reader
    never sees the state before its own write.
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
        """Whether this cache holds the objects of `kind` in `namespace`."""
        return kind == self._scope.kind and self._scope.namespace in ("", namespace)

    def subscribe(self, handler: ChangeHandler[T]) -> Subscription[T]:
        """Send all stored objects to `handler`, and then every change."""
        errors = self._metrics.handler_errors.labels(str(self._scope.kind))
        subscription = Subscription(handler, errors)
        self._subscriptions.append(subscription)
        for stored in self.store.all():
            subscription.send(ChangeNotification(None, stored, is_backlog=True))
        if self._synced.is_set():
            subscription.mark_initial_sent()
        if self._tasks is not None:
            self._tasks.create_task(subscription.run(), name=f"{self.name} handler")
        return subscription

    def set_undecodable_handler(self, handler: Callable[[UndecodableObject], None]) -> None:
        """Send each object that the model cannot decode to `handler`, once per version."""
        self._undecodable_handler = handler

    async def synced(self) -> None:
        """Wait until the store holds the initial list."""
        await self._synced.wait()

    def silent_seconds(self) -> float:
        """Return the seconds since the last data of the server; infinite before the first list."""
        received_at = self._reflector.last_received_at
        return float("inf") if received_at is None else self._clock.monotonic() - received_at

    def not_ready(self) -> list[str]:
        """Return why the store is not reliable: it has not synced, or the watch is silent."""
        seconds = self.silent_seconds()
        if not self._synced.is_set():
            return [f"{self.name} has not synced"]
        return (
            [f"{self.name} received no data for {seconds:.0f} s"]
            if seconds > MAX_SILENCE_SECONDS
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
        """Store the result of our own write, unless the watch has reported a newer state."""
        if not is_at_or_before(new.metadata.resource_version, self._last_sync_version):
            self._store_and_notify(new)

    def observe_delete(self, key: ObjectKey, uid: str) -> None:
        """Remove the object that our own delete removed, unless the watch has reported that."""
        if not uid or uid in self._deleted_uids:
            return
        stored = self.store.get(key)
        if stored is None or stored.metadata.uid != uid:
            self._pending_deletes.setdefault(key, PendingDelete(uid, ""))
            return
        self._pending_deletes[key] = PendingDelete(uid, stored.metadata.resource_version)
        self._remove_and_notify(stored)

    def resync(self) -> None:
        """Send every stored object to every subscriber again, without a request to the server."""
        for stored in self.store.all():
            self._notify(ChangeNotification(stored, stored, is_backlog=True))

    def replace(self, object_list: ObjectList[T]) -> None:
        """Replace the store by a list; objects that we wrote after the list stay.

        A list is never older than the watch, unless the cluster was restored from a backup. Then
        the stored objects never existed, and only the list counts.
        """
        restored = is_older_version(object_list.resource_version, self._last_sync_version)
        if restored:
            log.warning("history_went_back", extra={"kind": str(self._scope.kind)})
            self._pending_deletes.clear()
            self._deleted_uids.clear()
        self._last_sync_version = object_list.resource_version
        initial = not self._synced.is_set()
        missing = self._missing_from(object_list, restored=restored)
        changes = [self._store_if_newer(item, restored=restored) for item in object_list.items]
        for stored in missing:
            self.store.remove(key_of(stored))
            self._deleted_uids.append(stored.metadata.uid)
            self._notify(ChangeNotification(stored, None))
        for change in changes:
            if change is not None:
                self._notify(ChangeNotification(change.old, change.new, is_backlog=initial))
        for undecodable in object_list.undecodable:
            self._report_undecodable(undecodable)
        self._forget_except(object_list)
        self._finish_sync()

    def handle_change(self, change: Change[T]) -> None:
        """Apply one event of the watch."""
        subject, self._last_sync_version = change.object, change.object.metadata.resource_version
        if change.is_deleted:
            self._handle_deleted(key_of(subject), subject.metadata.uid, subject)
        else:
            self._store_and_notify(subject)

    def handle_undecodable(self, undecodable: UndecodableObject) -> None:
        """Apply an event whose object the model cannot decode.

        The last decodable version stays, because the object is not deleted.
        """
        self._last_sync_version = undecodable.resource_version or self._last_sync_version
        if undecodable.is_deleted:
            self._handle_deleted(undecodable.key, undecodable.uid, None)
        else:
            self._report_undecodable(undecodable)

    def _report_undecodable(self, undecodable: UndecodableObject) -> None:
        """Report an object that cannot be decoded, once per version."""
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
        """Return stored objects that are neither in the list nor written by us after it."""
        listed = {key_of(item) for item in object_list.items}
        undecodable = {(item.key, item.uid) for item in object_list.undecodable}
        return [
            stored
            for stored in self.store.all()
            if key_of(stored) not in listed
            and (key_of(stored), stored.metadata.uid) not in undecodable
            and (
                restored
                or not is_older_version(self._last_sync_version, stored.metadata.resource_version)
            )
        ]

    def _forget_except(self, object_list: ObjectList[T]) -> None:
        """Forget pending deletes and reports that the list proves to be obsolete."""
        undecodable = {item.key: item.uid for item in object_list.undecodable}
        listed = {key_of(item): item.metadata.uid for item in object_list.items} | undecodable
        self._pending_deletes = {
            key: pending
            for key, pending in self._pending_deletes.items()
            if listed.get(key) == pending.uid
            or is_older_version(self._last_sync_version, pending.resource_version)
        }
        self._reported_versions = {
            key: version for key, version in self._reported_versions.items() if key in undecodable
        }

    def _finish_sync(self) -> None:
        self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))
        if not self._synced.is_set():
            self._synced.set()
            for subscription in self._subscriptions:
                subscription.mark_initial_sent()

    def _store_and_notify(self, new: T) -> None:
        notification = self._store_if_newer(new)
        if notification is not None:
            self._notify(notification)
            self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))

    def _store_if_newer(self, new: T, *, restored: bool = False) -> ChangeNotification[T] | None:
        """Store `new` and return the notification; None if it is not newer than the store."""
        key = key_of(new)
        old, pending = self.store.get(key), self._pending_deletes.get(key)
        if pending is not None and pending.supersedes(new):
            return None
        if old is not None and is_stale(old, new, restored=restored):
            return None
        self.store.put(new)
        self._reported_versions.pop(key, None)
        return ChangeNotification(old, new)

    def _handle_deleted(self, key: ObjectKey, uid: str, last_state: T | None) -> None:
        """Remove an object that the watch reports as deleted; a newer object of the key stays."""
        self._reported_versions.pop(key, None)
        self._deleted_uids.append(uid)
        pending = self._pending_deletes.get(key)
        if pending is not None and pending.uid == uid:
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
    """Whether a watch that has reached `last_version` has reported `version`."""
    return version == last_version or is_older_version(version, last_version)


def is_stale(old: Object, new: Object, *, restored: bool) -> bool:
    """Whether `new` is the stored state or an older one."""
    stored, received = old.metadata.resource_version, new.metadata.resource_version
    return stored == received or (is_older_version(received, stored) and not restored)
