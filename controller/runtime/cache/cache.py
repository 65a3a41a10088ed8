"""Read access to the cached objects of one kind, over all watched namespaces."""

from collections.abc import Awaitable, Mapping
from typing import Any, Generic, TypeVar

from controller.runtime.cache.informer import Informer
from controller.runtime.cache.subscription import ChangeHandler, ChangeNotification
from controller.runtime.client.objects import Object
from controller.runtime.key import ObjectKey

T = TypeVar("T", bound=Object)


class Cache(Generic[T]):
    """One informer per namespace, or one under the empty name that watches all namespaces.

    A kind without namespaces has its informer under the empty name too.
    """

    def __init__(self, informers: Mapping[str, Informer[T]]) -> None:
        self._by_namespace = dict(informers)

    @property
    def informers(self) -> tuple[Informer[T], ...]:
        """The informers, for the process that runs them."""
        return tuple(self._by_namespace.values())

    def get(self, key: ObjectKey) -> T | None:
        """Return the object of `key`, or None."""
        informer = self._responsible_informer(key.namespace)
        return None if informer is None else informer.store.get(key)

    def all(self, namespace: str = "") -> list[T]:
        """Return all objects, or those of one namespace; KeyError if that is not watched."""
        if not namespace:
            return [subject for informer in self.informers for subject in informer.store.all()]
        if namespace in self._by_namespace:
            return self._by_namespace[namespace].store.all()
        if "" in self._by_namespace:
            return self._by_namespace[""].store.all(namespace)
        raise KeyError(namespace)

    def by_index(self, namespace: str, name: str, value: str) -> list[T]:
        """Return the objects of a namespace for which index function `name` returned `value`."""
        informer = self._responsible_informer(namespace)
        subjects = [] if informer is None else informer.store.by_index(name, value)
        if namespace in self._by_namespace:
            return subjects
        return [subject for subject in subjects if subject.metadata.namespace == namespace]

    def subscribe(self, handler: ChangeHandler[Any], namespace: str = "") -> None:
        """Send every change to `handler`, or only the changes in one namespace."""
        for watched, informer in self._by_namespace.items():
            if namespace in ("", watched):
                informer.subscribe(handler)
            elif not watched:
                informer.subscribe(namespaced_handler(namespace, handler))

    def _responsible_informer(self, namespace: str) -> Informer[T] | None:
        return self._by_namespace.get(namespace, self._by_namespace.get(""))


def namespaced_handler(namespace: str, handler: ChangeHandler[Any]) -> ChangeHandler[Any]:
    """Return a handler that passes on the changes in one namespace."""

    def handle(notification: ChangeNotification[Any]) -> Awaitable[None] | None:
        return handler(notification) if notification.namespace == namespace else None

    return handle
