"""Objects by key, with indexes; readers share the stored objects and must not change them."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from controller.runtime.client.kind import key_of
from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)

IndexFunction = Callable[[T], Iterable[str]]

log = logging.getLogger(__name__)


class Store(Generic[T]):
    """The objects of an informer, which alone writes them.

    All methods are synchronous, so a reader sees one state between two awaits.
    """

    def __init__(self, indexers: Mapping[str, IndexFunction[T]] | None = None) -> None:
        self._objects: dict[ObjectKey, T] = {}
        self._indexers = dict(indexers or {})
        self._indexes: dict[str, dict[str, dict[ObjectKey, None]]] = {
            name: {} for name in self._indexers
        }

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._objects)

    def get(self, key: ObjectKey) -> T | None:
        """Return the object of `key`, or None."""
        return self._objects.get(key)

    def all(self, namespace: str = "") -> list[T]:
        """Return all objects, or those of one namespace."""
        if not namespace:
            return list(self._objects.values())
        return [stored for key, stored in self._objects.items() if key.namespace == namespace]

    def by_index(self, name: str, value: str) -> list[T]:
        """Return the objects for which index function `name` returned `value`; or KeyError."""
        return [self._objects[key] for key in self._indexes[name].get(value, ())]

    def index_values(self, name: str) -> list[str]:
        """Return all values of the index `name`."""
        return list(self._indexes[name])

    def put(self, new: T) -> T | None:
        """Store `new` under its key; return the previous object, or None."""
        key = key_of(new)
        old = self._objects.get(key)
        self._objects[key] = new
        if self._indexers:
            self._reindex(key, old, new)
        return old

    def remove(self, key: ObjectKey) -> T | None:
        """Remove the object of `key` and return it, or None."""
        old = self._objects.pop(key, None)
        if old is not None and self._indexers:
            self._reindex(key, old, None)
        return old

    def _reindex(self, key: ObjectKey, old: T | None, new: T | None) -> None:
        for name, indexer in self._indexers.items():
            before = () if old is None else indexed_values(name, indexer, old)
            after = () if new is None else indexed_values(name, indexer, new)
            if before == after:
                continue
            index = self._indexes[name]
            for value in before:
                remove_from_index(index, value, key)
            for value in after:
                index.setdefault(value, {})[key] = None


def indexed_values(name: str, index_function: IndexFunction[T], subject: T) -> tuple[str, ...]:
    """Return the values of an index function; empty if it raises."""
    try:
        return tuple(dict.fromkeys(index_function(subject)))
    except Exception:
        log.exception("indexer_failed", extra={"index": name, "object": str(key_of(subject))})
        return ()


def remove_from_index(index: dict[str, dict[ObjectKey, None]], value: str, key: ObjectKey) -> None:
    """Remove `key`, and a value without keys too, so that the index does not grow."""
    keys = index.get(value)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del index[value]
