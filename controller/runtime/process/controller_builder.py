"""The declaration of one controller: its kind, its triggers, and its reconciler."""

from collections.abc import Callable, Iterable
from typing import Any, Final, Self, TypeVar

from controller.runtime.cache.shared_caches import SharedCaches
from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.undecodable import undecodable_event_handler
from controller.runtime.key import ObjectKey
from controller.runtime.loop.control_loop import RECONCILE_TIMEOUT_SECONDS, ControlLoop
from controller.runtime.loop.enqueue import (
    Trigger,
    enqueue_handler,
    mapped_keys,
    own_key,
    owner_keys,
)
from controller.runtime.loop.loop_factory import LoopFactory
from controller.runtime.loop.reconcile import Reconciler
from controller.runtime.queue.priority import Priority
from controller.runtime.queue.workqueue import WorkQueue

T = TypeVar("T", bound=Object)

UNDECODABLE_REASON: Final = "Undecodable"


class IncompleteControllerError(Exception):
    """A controller was declared without `for_` or without `reconcile`."""


class ControllerBuilder:
    """Subscribes a queue to caches, and connects it to a reconciler.

    Each of `for_`, `owns`, `watches` and `on_change` takes effect at once; `reconcile` completes
    the controller. `queue` is for sources of keys other than watches.
    """

    def __init__(
        self,
        name: str,
        queue: WorkQueue[ObjectKey],
        caches: SharedCaches,
        loop_factory: LoopFactory,
        recorder: EventRecorder,
    ) -> None:
        self.name = name
        self.queue = queue
        self._caches = caches
        self._loop_factory = loop_factory
        self._recorder = recorder
        self._kind: Kind[Any] | None = None
        self._loop: ControlLoop | None = None

    def for_(self, kind: Kind[Any], undecodable_reason: str = UNDECODABLE_REASON) -> Self:
        """Reconcile the objects of `kind`: each change enqueues the key of its object.

        An object that the model cannot decode is not reconciled: it gets a Warning event with
        `undecodable_reason`, once per version.
        """
        self._kind = kind
        report = undecodable_event_handler(self._recorder, kind, undecodable_reason)
        for informer in self._caches.cache(kind).informers:
            informer.set_undecodable_handler(report)
        return self.on_change(kind, own_key(), Priority.CHANGED)

    def owns(self, kind: Kind[Any], *, controller_only: bool = True, namespace: str = "") -> Self:
        """Reconcile the owner of each changed object of `kind`, as its owner references name it."""
        trigger = owner_keys(self._reconciled_kind(), controller_only)
        return self.on_change(kind, trigger, namespace=namespace)

    def watches(
        self,
        kind: Kind[T],
        function: Callable[[T], Iterable[ObjectKey]],
        priority: Priority = Priority.CHILD,
        namespace: str = "",
    ) -> Self:
        """Reconcile the keys that `function` returns for the old and the new state of an object."""
        return self.on_change(kind, mapped_keys(function), priority, namespace)

    def on_change(
        self,
        kind: Kind[Any],
        trigger: Trigger,
        priority: Priority = Priority.CHILD,
        namespace: str = "",
    ) -> Self:
        """Reconcile the keys that `trigger` returns for a change, seen as old and new state."""
        handler = enqueue_handler(self.queue, trigger, priority)
        self._caches.cache(kind).subscribe(handler, namespace)
        return self

    def reconcile(
        self,
        reconciler: Reconciler,
        workers: int = 1,
        timeout_seconds: float = RECONCILE_TIMEOUT_SECONDS,
    ) -> None:
        """Complete the controller: up to `workers` keys are reconciled at once."""
        self._reconciled_kind()
        self._loop = self._loop_factory.new_loop(
            self.name, workers, self.queue, reconciler, timeout_seconds
        )

    @property
    def loop(self) -> ControlLoop:
        """The loop of the complete controller; IncompleteControllerError before `reconcile`."""
        if self._loop is None:
            raise IncompleteControllerError(f"controller {self.name}: reconcile() was not called")
        return self._loop

    def _reconciled_kind(self) -> Kind[Any]:
        if self._kind is None:
            raise IncompleteControllerError(f"controller {self.name}: call for_() first")
        return self._kind
