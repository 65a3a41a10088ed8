"""Objects by key, with indexes; readers get the stored values and must not change them."""

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
    """What an informer knows; only the informer writes.

    All methods are synchronous, so a reader between two awaits sees one moment.
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
        """The object of `key`, or None."""
        return self._objects.get(key)

    def all(self, namespace: str = "") -> list[T]:
        """All objects, or those of one namespace."""
        if not namespace:
            return list(self._objects.values())
        return [found for key, found in self._objects.items() if key.namespace == namespace]

    def by_index(self, name: str, value: str) -> list[T]:
        """The objects for which the indexer `name` gave `value`; KeyError for an unknown index."""
        return [self._objects[key] for key in self._indexes[name].get(value, ())]

    def index_values(self, name: str) -> list[str]:
        """Every value that the index `name` holds objects for."""
        return list(self._indexes[name])

    def put(self, new: T) -> T | None:
        """Store `new` under its key; what was there before."""
        key = key_of(new)
        old = self._objects.get(key)
        self._objects[key] = new
        if self._indexers:
            self._reindex(key, old, new)
        return old

    def remove(self, key: ObjectKey) -> T | None:
        """Forget the object of `key`; what it was."""
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
    """What the indexer says; one that raises leaves the object out of its index."""
    try:
        return tuple(dict.fromkeys(index_function(subject)))
    except Exception:
        log.exception("indexer_failed", extra={"index": name, "object": str(key_of(subject))})
        return ()


def remove_from_index(index: dict[str, dict[ObjectKey, None]], value: str, key: ObjectKey) -> None:
    """Take `key` out; a value without keys goes too, or the index would grow for ever."""
    keys = index.get(value)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del index[value]
