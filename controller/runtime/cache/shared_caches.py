"""The caches of a process: one per kind, shared by all its controllers."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, TypeVar

from controller.runtime.cache.cache import Cache
from controller.runtime.cache.informer import Informer
from controller.runtime.cache.metrics import InformerMetrics
from controller.runtime.cache.reflector import ListerWatcher, WatchScope
from controller.runtime.cache.store import IndexFunction
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.clock import Clock

T = TypeVar("T", bound=Object)


class SharedCaches:
    """Creates the cache of a kind at its first use, and returns the same one after that.

    `informers` lists the informers of all caches; the list grows with them.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher,
        namespaces: Sequence[str],
        metrics: InformerMetrics,
        clock: Clock,
        rng: Random,
    ) -> None:
        self._lister_watcher = lister_watcher
        self._namespaces = namespaces
        self._metrics = metrics
        self._clock = clock
        self._rng = rng
        self._by_kind: dict[Kind[Any], Cache[Any]] = {}
        self._is_sealed = False
        self.informers: list[Informer[Any]] = []

    def cache(
        self,
        kind: Kind[T],
        namespaces: Sequence[str] | None = None,
        indexers: Mapping[str, IndexFunction[T]] | None = None,
    ) -> Cache[T]:
        """Return the cache of `kind`.

        The first use may set other namespaces than those of the process, and indexers; ValueError
        if a later use does, RuntimeError for a new kind while the process runs.
        """
        known = self._by_kind.get(kind)
        if known is None:
            return self._create(kind, namespaces or self._namespaces, indexers)
        if namespaces is not None or indexers is not None:
            raise ValueError(
                f"the cache of {kind} exists already: set namespaces and indexers at its first use"
            )
        return known

    def seal(self) -> None:
        """Refuse new kinds from now on: the process runs the informers that exist now."""
        self._is_sealed = True

    def _create(
        self,
        kind: Kind[T],
        namespaces: Sequence[str],
        indexers: Mapping[str, IndexFunction[T]] | None,
    ) -> Cache[T]:
        if self._is_sealed:
            raise RuntimeError(
                f"the process runs already: create the cache of {kind} before its start"
            )
        cache = Cache(
            {
                namespace: self._new_informer(WatchScope(kind, namespace), indexers)
                for namespace in (namespaces if kind.namespaced else ("",))
            }
        )
        self._by_kind[kind] = cache
        self.informers.extend(cache.informers)
        return cache

    def _new_informer(
        self, scope: WatchScope[T], indexers: Mapping[str, IndexFunction[T]] | None
    ) -> Informer[T]:
        return Informer(
            self._lister_watcher, scope, self._metrics, self._clock, self._rng, indexers
        )
