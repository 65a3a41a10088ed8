"""A cache of one kind that follows the server, and tells its subscribers of every change."""

import asyncio
import logging
from collections.abc import Mapping
from random import Random
from typing import Any, Final, Generic, TypeVar

from controller.runtime.clock import Clock
from controller.runtime.decoding import Change, Listing, Unreadable
from controller.runtime.informer_metrics import InformerMetrics
from controller.runtime.key import ObjectKey
from controller.runtime.kind import Kind, key_of
from controller.runtime.objects import Object, is_older
from controller.runtime.reflector import Reflector, Scope, Source
from controller.runtime.store import Indexer, Store
from controller.runtime.subscription import Handler, Notice, Subscription

T = TypeVar("T", bound=Object)

# A watch hears at least a bookmark a minute.
SILENT_SECONDS: Final = 120.0

log = logging.getLogger(__name__)


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
        self._deleted: dict[ObjectKey, str] = {}
        self._reported: dict[ObjectKey, str] = {}

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
        if self._synced.is_set():
            for found in self.store.all():
                subscription.send(Notice(None, found, backlog=True))
            subscription.mark_caught_up()
        if self._tasks is not None:
            self._tasks.create_task(subscription.run(), name=f"{self.name} handler")
        return subscription

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
        async with asyncio.TaskGroup() as group:
            self._tasks = group
            for subscription in self._subscriptions:
                group.create_task(subscription.run(), name=f"{self.name} handler")
            group.create_task(self._reflector.run(), name=f"{self.name} reflector")

    def wrote(self, new: T) -> None:
        """Take in what the server answered to our own write."""
        if key_of(new) in self.store or self._synced.is_set():
            self._put(new)

    def deleted(self, key: ObjectKey, uid: str) -> None:
        """Take in that our own delete removed the object with `uid`."""
        self._deleted[key] = uid
        stored = self.store.get(key)
        if stored is not None and stored.metadata.uid == uid:
            self._remove(stored)

    def resync(self) -> None:
        """Tell every subscriber of every object once more; asks the server nothing."""
        for found in self.store.all():
            self._tell(Notice(found, found, backlog=True))

    def replace(self, listing: Listing[T]) -> None:
        """Take in a whole list: what is not on it is gone, unless it is newer than the list."""
        listed = {key_of(found) for found in listing.items}
        listed |= {found.key for found in listing.unreadable}
        vanished = [
            stored
            for stored in self.store.all()
            if key_of(stored) not in listed
            and not is_older(listing.resource_version, stored.metadata.resource_version)
        ]
        initial = not self._synced.is_set()
        changes = [self._swap(found) for found in listing.items]
        for stored in vanished:
            self.store.remove(key_of(stored))
        for stored in vanished:
            self._tell(Notice(stored, None))
        for notice in changes:
            if notice is not None:
                self._tell(Notice(notice.old, notice.new, backlog=initial))
        for found in listing.unreadable:
            self.unreadable(found)
        self._forget_but(listing)
        self._finish_sync()

    def change(self, change: Change[T]) -> None:
        """Take in one event of the watch."""
        if change.gone:
            self._gone(change.object)
        else:
            self._put(change.object)

    def unreadable(self, found: Unreadable) -> None:
        """Report an object that the model cannot hold, once a version; the rest goes on.

        The last version that could be read stays: a reader must not take it for deleted.
        """
        if found.gone:
            self._reported.pop(found.key, None)
            stored = self.store.get(found.key)
            if stored is not None:
                self._remove(stored)
            return
        if self._reported.get(found.key) == found.resource_version:
            return
        self._reported[found.key] = found.resource_version
        self._metrics.unreadable.labels(str(self._scope.kind)).inc()
        log.error(
            "object_unreadable",
            extra={"kind": str(self._scope.kind), "object": str(found.key), "error": found.error},
        )

    def _forget_but(self, listing: Listing[T]) -> None:
        """Drop what was remembered of objects that the list shows to be over and done with."""
        listed = {key_of(found): found.metadata.uid for found in listing.items}
        self._deleted = {key: uid for key, uid in self._deleted.items() if listed.get(key) == uid}
        unreadable = {found.key for found in listing.unreadable}
        self._reported = {
            key: version for key, version in self._reported.items() if key in unreadable
        }

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

    def _swap(self, new: T) -> Notice[T] | None:
        """Store `new` unless it is no news; what subscribers are to be told."""
        key = key_of(new)
        old = self.store.get(key)
        if is_stale(old, new) or self._deleted.get(key) == new.metadata.uid:
            return None
        self.store.put(new)
        self._reported.pop(key, None)
        return Notice(old, new)

    def _gone(self, last: T) -> None:
        key = key_of(last)
        self._reported.pop(key, None)
        if self._deleted.get(key) == last.metadata.uid:
            del self._deleted[key]
            return
        stored = self.store.get(key)
        if stored is None or stored.metadata.uid == last.metadata.uid:
            self._remove(last)

    def _remove(self, last: T) -> None:
        self.store.remove(key_of(last))
        self._tell(Notice(last, None))
        self._metrics.objects.labels(str(self._scope.kind)).set(len(self.store))

    def _tell(self, notice: Notice[T]) -> None:
        for subscription in self._subscriptions:
            subscription.send(notice)


def is_stale(old: Object | None, new: Object) -> bool:
    """Whether `new` is what we have, or something that was before it."""
    if old is None:
        return False
    ours, theirs = old.metadata.resource_version, new.metadata.resource_version
    return ours == theirs or is_older(theirs, ours)
