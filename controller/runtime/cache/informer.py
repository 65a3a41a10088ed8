"""A cache of one kind that follows the server, and tells its subscribers of every change."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Generic, TypeVar

from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import Reflector, Scope, Source
from controller.runtime.cache.store import Indexer, Store
from controller.runtime.cache.subscription import Handler, Notice, Subscription
from controller.runtime.client.decoding import Change, Listing, Unreadable
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object, is_older
from controller.runtime.clock import Clock
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)

# A watch hears at least a bookmark a minute.
SILENT_SECONDS: Final = 120.0
# The watch may tell of our delete before its answer has its turn, but not of this many others too.
REMEMBERED_DELETES: Final = 1000

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnDelete:
    """An object that we deleted and whose delete the watch has yet to tell of."""

    uid: str
    version: str

    def is_after(self, found: Object) -> bool:
        """Whether this is news from before our delete: of the object, or of one before it."""
        meta = found.metadata
        return meta.uid == self.uid or is_older(meta.resource_version, self.version)


class Informer(Generic[T]):
    """One watch and one store, shared by any number of handlers.

    The store is changed and every subscription is told without an await in between, so a handler
    never sees a store older than its notice. What we wrote ourselves is taken in at once (`wrote`,
    `deleted`), and the watch's older news of it is ignored: a reader never sees the state before
    its own write.
    """

    def __init__(
        self,
        source: Source,
        scope: Scope[T],
        metrics: InformerMetrics,
        clock: Clock,
        randomness: Random,
        indexers: Mapping[str, Indexer[T]] | None = None,
    ) -> None:
        self.store: Store[T] = Store(indexers)
        self._scope = scope
        self._metrics = metrics
        self._clock = clock
        self._reflector = Reflector(source, scope, self, metrics, clock, randomness)
        self._subscriptions: list[Subscription[T]] = []
        self._tasks: asyncio.TaskGroup | None = None
        self._synced = asyncio.Event()
        self._followed = ""
        self._deleted: dict[ObjectKey, OwnDelete] = {}
        self._gone: deque[str] = deque(maxlen=REMEMBERED_DELETES)
        self._reported: dict[ObjectKey, str] = {}
        self._tell_unreadable: Callable[[Unreadable], None] = lambda _: None

    @property
    def kind(self) -> Kind[T]:
        return self._scope.kind

    @property
    def name(self) -> str:
        return f"informer {self._scope.kind}"

    def covers(self, kind: Kind[Any], namespace: str) -> bool:
        """Whether an object of `kind` in `namespace` belongs into this cache."""
        return kind == self._scope.kind and self._scope.namespace in ("", namespace)

    def subscribe(self, handler: Handler[T]) -> Subscription[T]:
        """Tell `handler` of everything there is and of every change from now on."""
        errors = self._metrics.handler_errors.labels(str(self._scope.kind))
        subscription = Subscription(handler, errors)
        self._subscriptions.append(subscription)
        for found in self.store.all():
            subscription.send(Notice(None, found, backlog=True))
        if self._synced.is_set():
            subscription.mark_caught_up()
        if self._tasks is not None:
            self._tasks.create_task(subscription.run(), name=f"{self.name} handler")
        return subscription

    def report_unreadable(self, to: Callable[[Unreadable], None]) -> None:
        """Tell `to`, once a version, of each object that the model cannot hold."""
        self._tell_unreadable = to

    async def synced(self) -> None:
        """Wait until the store holds the initial list."""
        await self._synced.wait()

    def silent_seconds(self) -> float:
        """How long nothing was heard from the server; infinite before the first list."""
        heard = self._reflector.last_heard
        return float("inf") if heard is None else self._clock.monotonic() - heard

    def not_ready(self) -> list[str]:
        """Why nobody should rely on the store: nothing in it yet, or nothing heard for long."""
        silent = self.silent_seconds()
        if not self._synced.is_set():
            return [f"{self.name} has not caught up"]
        return [f"{self.name} heard nothing for {silent:.0f} s"] if silent > SILENT_SECONDS else []

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

    def wrote(self, new: T) -> None:
        """Take in what the server answered to our own write, unless the watch is past it."""
        if not is_reached(new.metadata.resource_version, self._followed):
            self._put(new)

    def deleted(self, key: ObjectKey, uid: str) -> None:
        """Take in that our own delete removed the object with `uid`, unless the watch told it."""
        if not uid or uid in self._gone:
            return
        stored = self.store.get(key)
        if stored is None or stored.metadata.uid != uid:
            self._deleted.setdefault(key, OwnDelete(uid, ""))
            return
        self._deleted[key] = OwnDelete(uid, stored.metadata.resource_version)
        self._remove(stored)

    def resync(self) -> None:
        """Tell every subscriber of every object once more; asks the server nothing."""
        for found in self.store.all():
            self._tell(Notice(found, found, backlog=True))

    def replace(self, listing: Listing[T]) -> None:
        """Take in a whole list: what is not on it is gone, unless we wrote it after the list.

        A list is never older than what we followed, except where the cluster was restored from a
        backup: then what we have never happened, and only the list counts.
        """
        restored = is_older(listing.resource_version, self._followed)
        if restored:
            log.warning("history_went_back", extra={"kind": str(self._scope.kind)})
            self._deleted.clear()
            self._gone.clear()
        self._followed = listing.resource_version
        initial = not self._synced.is_set()
        vanished = self._missing_from(listing, restored=restored)
        changes = [self._swap(found, restored=restored) for found in listing.items]
        for stored in vanished:
            self.store.remove(key_of(stored))
            self._gone.append(stored.metadata.uid)
            self._tell(Notice(stored, None))
        for notice in changes:
            if notice is not None:
                self._tell(Notice(notice.old, notice.new, backlog=initial))
        for found in listing.unreadable:
            self._report(found)
        self._forget_but(listing)
        self._finish_sync()

    def change(self, change: Change[T]) -> None:
        """Take in one event of the watch."""
        found, self._followed = change.object, change.object.metadata.resource_version
        if change.gone:
            self._take_away(key_of(found), found.metadata.uid, found)
        else:
            self._put(found)

    def unreadable(self, found: Unreadable) -> None:
        """Take in an event whose object the model cannot hold.

        The last version that could be read stays: a reader must not take it for deleted.
        """
        self._followed = found.resource_version or self._followed
        if found.gone:
            self._take_away(found.key, found.uid, None)
        else:
            self._report(found)

    def _report(self, found: Unreadable) -> None:
        """Say that an object cannot be read, once a version."""
        if self._reported.get(found.key) == found.resource_version:
            return
        self._reported[found.key] = found.resource_version
        self._metrics.unreadable.labels(str(self._scope.kind)).inc()
        log.error(
            "object_unreadable",
            extra={"kind": str(self._scope.kind), "object": str(found.key), "error": found.error},
        )
        self._tell_unreadable(found)

    def _missing_from(self, listing: Listing[T], *, restored: bool) -> list[T]:
        """What is stored and neither listed nor written by us after the list."""
        listed = {key_of(found) for found in listing.items}
        unread = {(found.key, found.uid) for found in listing.unreadable}
        return [
            stored
            for stored in self.store.all()
            if key_of(stored) not in listed
            and (key_of(stored), stored.metadata.uid) not in unread
            and (restored or not is_older(self._followed, stored.metadata.resource_version))
        ]

    def _forget_but(self, listing: Listing[T]) -> None:
        """Drop what was remembered of objects that the list shows to be over and done with."""
        unread = {found.key: found.uid for found in listing.unreadable}
        listed = {key_of(found): found.metadata.uid for found in listing.items} | unread
        self._deleted = {
            key: own
            for key, own in self._deleted.items()
            if listed.get(key) == own.uid or is_older(self._followed, own.version)
        }
        self._reported = {key: version for key, version in self._reported.items() if key in unread}

    def _finish_sync(self) -> None:
        self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))
        if not self._synced.is_set():
            self._synced.set()
            for subscription in self._subscriptions:
                subscription.mark_caught_up()

    def _put(self, new: T) -> None:
        notice = self._swap(new)
        if notice is not None:
            self._tell(notice)
            self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))

    def _swap(self, new: T, *, restored: bool = False) -> Notice[T] | None:
        """Store `new` unless it is no news; what subscribers are to be told."""
        key = key_of(new)
        old, own = self.store.get(key), self._deleted.get(key)
        if own is not None and own.is_after(new):
            return None
        if old is not None and is_known(old, new, restored=restored):
            return None
        self.store.put(new)
        self._reported.pop(key, None)
        return Notice(old, new)

    def _take_away(self, key: ObjectKey, uid: str, last: T | None) -> None:
        """Take in that the watch is past a delete; a successor that we made already stays."""
        self._reported.pop(key, None)
        self._gone.append(uid)
        own = self._deleted.get(key)
        if own is not None and own.uid == uid:
            del self._deleted[key]
        stored = self.store.get(key)
        if stored is not None and stored.metadata.uid == uid:
            self._remove(last or stored)

    def _remove(self, last: T) -> None:
        self.store.remove(key_of(last))
        self._tell(Notice(last, None))
        self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))

    def _tell(self, notice: Notice[T]) -> None:
        for subscription in self._subscriptions:
            subscription.send(notice)


def is_reached(version: str, followed: str) -> bool:
    """Whether whoever followed the server up to `followed` was told of `version`."""
    return version == followed or is_older(version, followed)


def is_known(old: Object, new: Object, *, restored: bool) -> bool:
    """Whether `new` is what we have, or something that was before it."""
    ours, theirs = old.metadata.resource_version, new.metadata.resource_version
    return ours == theirs or (is_older(theirs, ours) and not restored)
