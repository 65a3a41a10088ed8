"""Which keys a change wakes: `old` is None for a new object, `new` for a deleted one."""

from collections.abc import Callable, Iterable
from typing import Any

from controller.runtime.client.kind import Kind, key_of
from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey

Trigger = Callable[[Object | None, Object | None], Iterable[ObjectKey]]
# Any because a trigger is only fed with objects of the kind that it was registered for.
MapFunction = Callable[[Any], Iterable[ObjectKey]]


def own_key() -> Trigger:
    """Wakes the object that changed."""

    def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
        changed = old if new is None else new
        return () if changed is None else (key_of(changed),)

    return keys


def mapped_keys(function: MapFunction) -> Trigger:
    """Wakes what `function` names for the object as it was and as it is, each key once.

    Both, because whoever the object no longer points to must hear of that too.
    """

    def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
        sides = [side for side in (old, new) if side is not None]
        return tuple(dict.fromkeys(key for side in sides for key in function(side)))

    return keys


def owner_keys(kind: Kind[Any], controller_only: bool = True) -> Trigger:
    """Wakes the owners of `kind`, of any version; the controlling one only, or all."""

    def owners(dependent: Object) -> Iterable[ObjectKey]:
        namespace = dependent.metadata.namespace if kind.namespaced else ""
        for reference in dependent.metadata.owner_references:
            group = reference.api_version.rpartition("/")[0]
            if (group, reference.kind) != (kind.group, kind.name):
                continue
            if reference.controller or not controller_only:
                yield ObjectKey(namespace, reference.name)

    return mapped_keys(owners)
