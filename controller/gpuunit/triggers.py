"""Triggers: which units a change of another object enqueues."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from controller.caches import (
    BY_FUNCTION,
    BY_NODE,
    BY_OPERATION,
    BY_POOL,
    BY_SOURCE_STOCK_UID,
    BY_STORAGE,
    Caches,
)
from controller.gpuunit.scheduling.nomination import is_node_ready, is_node_schedulable
from controller.namespaces import Namespaces
from controller.runtime import Object, ObjectKey, Trigger, key_of
from shared.k8s.deployment import REVISION_ANNOTATION, ReplicaSet
from shared.k8s.node import Node
from shared.k8s.pod import Pod
from shared.v1alpha1 import names, wellknown
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import KIND, GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool


class UnitTriggers:
    """Triggers that find the keys by the indexes of the caches."""

    def __init__(self, caches: Caches, namespaces: Namespaces) -> None:
        self._caches = caches
        self._namespaces = namespaces

    def units_of_child(self, child: Pod | ReplicaSet) -> Iterable[ObjectKey]:
        """Return the unit of the child; for a stock's child also the unit from that stock."""
        name = child.metadata.labels.get(wellknown.UNIT_LABEL)
        if name is None:
            return
        key = ObjectKey(child.metadata.namespace, name)
        yield key
        stock = self._caches.units.get(key) if self._namespaces.is_stock(key) else None
        if stock is not None:
            yield from self.units_from_stock(stock)

    def on_revision_change(self) -> Trigger:
        """Return a trigger for the units whose pods may have become current or outdated.

        A change of the number of pods enqueues no unit.
        """

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            changed = new or old
            if isinstance(changed, ReplicaSet) and revision_identity(old) != revision_identity(new):
                yield from self.units_of_child(changed)

        return keys

    def units_from_stock(self, stock: GPUUnit) -> Iterable[ObjectKey]:
        """Return the unit that was created from the stock."""
        return self._units_from_stock_uid(stock.metadata.uid)

    def units_mounting(self, storage: GPUStorage) -> Iterable[ObjectKey]:
        """Return the units that mount the storage."""
        meta = storage.metadata
        return map(key_of, self._caches.units.by_index(meta.namespace, BY_STORAGE, meta.name))

    def on_volume_release(self, pvc_names_of: Callable[[Any], Iterable[str]]) -> Trigger:
        """Return a trigger for the units that mount a storage whose volume lost a user."""

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            if old is None:
                return
            namespace, still_used = (
                old.metadata.namespace,
                () if new is None else tuple(pvc_names_of(new)),
            )
            for name in pvc_names_of(old):
                if name not in still_used:
                    yield from map(key_of, self._caches.units.by_index(namespace, BY_STORAGE, name))

        return keys

    def on_function_created_or_deleted(self) -> Trigger:
        """Return a trigger for the units of a function that was created or deleted."""

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            if old is not None and new is not None:
                return ()
            changed = new or old
            if changed is None:
                return ()
            meta = changed.metadata
            return map(key_of, self._caches.units.by_index(meta.namespace, BY_FUNCTION, meta.name))

        return keys

    def units_of_operation(self, operation: Operation) -> Iterable[ObjectKey]:
        """Return the units that the operation created, and the stock that it claims."""
        for namespace in self._namespaces.units:
            units = self._caches.units.by_index(
                namespace, BY_OPERATION, operation.spec.operation_id
            )
            yield from map(key_of, units)

    def _units_from_stock_uid(self, uid: str) -> Iterator[ObjectKey]:
        units = self._caches.units.by_index(self._namespaces.instance, BY_SOURCE_STOCK_UID, uid)
        yield from map(key_of, units)

    def on_unit_deletion(self) -> Trigger:
        """Return a trigger for the stock of a deleted unit: the stock claim may need a release."""

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            if new is None and isinstance(old, GPUUnit):
                name = old.metadata.annotations.get(wellknown.SOURCE_STOCK_NAME_ANNOTATION)
                if name is not None:
                    yield ObjectKey(self._namespaces.stock, name)

        return keys

    def on_name_release(self) -> Trigger:
        """Return a trigger for the unit whose child waited for the name of a deleted object.

        The object had another owner. Such deletions are too rare for an index.
        """

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            if new is not None or old is None or has_unit_owner(old):
                return
            for unit in self._caches.units.all(old.metadata.namespace):
                name = unit.metadata.name
                if old.metadata.name in (
                    names.unit_child_name(name),
                    names.egress_policy_name(name),
                ):
                    yield key_of(unit)

        return keys

    def on_claim_counted(self) -> Trigger:
        """Return a trigger for units whose stock claim a pool recorded or can no longer record."""

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            recorded = old.status.claimed if isinstance(old, StockPool) else ()
            if isinstance(new, StockPool):
                for uid in set(new.status.claimed) - set(recorded):
                    yield from self._units_from_stock_uid(uid)
            elif old is not None:
                namespace, name = key_of(old)
                for stock in self._caches.units.by_index(namespace, BY_POOL, name):
                    yield from self.units_from_stock(stock)

        return keys

    def on_node_change(self) -> Trigger:
        """Return a trigger for the units with pods on, or nominated to, a node.

        It enqueues them when the node becomes usable or unusable.
        """

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            changed = new or old
            if changed is None or node_state(old) == node_state(new):
                return
            for namespace in self._namespaces.units:
                for pod in self._caches.pods.by_index(namespace, BY_NODE, changed.metadata.name):
                    yield from self.units_of_child(pod)

        return keys


def has_unit_owner(child: Object) -> bool:
    owners = child.metadata.owner_references
    return any(owner.controller and owner.kind == KIND for owner in owners)


def revision_identity(replica_set: Object | None) -> tuple[str | None, str | None] | None:
    """Return the applied hash and the revision, which identify a ReplicaSet; None without one."""
    if not isinstance(replica_set, ReplicaSet):
        return None
    annotations = replica_set.metadata.annotations
    return annotations.get(wellknown.APPLIED_HASH_ANNOTATION), annotations.get(REVISION_ANNOTATION)


def node_state(node: Object | None) -> tuple[bool, bool]:
    """Return whether pods on the node count as running, and whether the node accepts more pods."""
    return (
        (is_node_ready(node), is_node_schedulable(node))
        if isinstance(node, Node)
        else (False, False)
    )
