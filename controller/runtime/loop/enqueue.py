"""Event handlers: map the changes that an informer reports to keys in a work queue."""

from collections.abc import Callable, Iterable
from typing import Any

from controller.runtime.cache.subscription import ChangeNotification
from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.workqueue import WorkQueue

# Maps the old and the new state to keys: old is None for a new object, new for a deleted one.
Trigger = Callable[[Object | None, Object | None], Iterable[ObjectKey]]
# Any, because a trigger only receives objects of the kind that it was registered for.
MapFunction = Callable[[Any], Iterable[ObjectKey]]


def own_key() -> Trigger:
    """Return a trigger for the key of the changed object."""

    def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
        changed = old if new is None else new
        return () if changed is None else (key_of(changed),)

    return keys


def mapped_keys(function: MapFunction) -> Trigger:
    """Return a trigger for the keys that `function` returns, without repetitions.

    It is called for the old and for the new state, because an object that is no longer referenced
    must be reconciled too.
    """

    def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
        states = [state for state in (old, new) if state is not None]
        return tuple(dict.fromkeys(key for state in states for key in function(state)))

    return keys


def owner_keys(kind: Kind[Any], controller_only: bool = True) -> Trigger:
    """Return a trigger for the owners of `kind`, in any version of its API.

    With `controller_only` the controlling owner alone counts.
    """

    def owners(dependent: Object) -> Iterable[ObjectKey]:
        namespace = dependent.metadata.namespace if kind.namespaced else ""
        for reference in dependent.metadata.owner_references:
            group = reference.api_version.rpartition("/")[0]
            if (group, reference.kind) != (kind.group, kind.name):
                continue
            if reference.controller or not controller_only:
                yield ObjectKey(namespace, reference.name)

    return mapped_keys(owners)


def enqueue_handler(
    queue: WorkQueue[ObjectKey], trigger: Trigger, priority: Priority = Priority.CHANGED
) -> Callable[[ChangeNotification[Any]], None]:
    """Return a handler that adds the keys of `trigger` to `queue`; the backlog gets BACKLOG."""

    def handle(notification: ChangeNotification[Any]) -> None:
        effective = Priority.BACKLOG if notification.is_backlog else priority
        for key in trigger(notification.old, notification.new):
            queue.add(key, effective)

    return handle
