"""What is known of one kind in the namespaces that we watch, read as one."""

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.subscription import ChangeHandler
from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)


class Cache(Generic[T]):
    """One informer a namespace; a kind without namespaces has one, under the empty name."""

    def __init__(self, informers: Mapping[str, Informer[T]]) -> None:
        self._by_namespace = dict(informers)

    @property
    def informers(self) -> tuple[Informer[T], ...]:
        """For whoever runs them."""
        return tuple(self._by_namespace.values())

    def get(self, key: ObjectKey) -> T | None:
        """The object of `key`, or None."""
        informer = self._by_namespace.get(key.namespace)
        return None if informer is None else informer.store.get(key)

    def all(self, namespace: str = "") -> list[T]:
        """All objects, or those of one namespace."""
        wanted = [namespace] if namespace else list(self._by_namespace)
        return [found for each in wanted for found in self._by_namespace[each].store.all()]

    def by_index(self, namespace: str, name: str, value: str) -> list[T]:
        """The objects of a namespace for which the indexer `name` gave `value`."""
        informer = self._by_namespace.get(namespace)
        return [] if informer is None else informer.store.by_index(name, value)

    def subscribe(self, handler: ChangeHandler[Any], namespace: str = "") -> None:
        """Tell `handler` of every change, or of those in one namespace."""
        for each, informer in self._by_namespace.items():
            if namespace in ("", each):
                informer.subscribe(handler)
