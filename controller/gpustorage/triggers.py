"""Triggers: which storages a change of another object enqueues."""

from collections.abc import Iterable

from controller.caches import (
    BY_COPY_SOURCE,
    BY_LOCK_OPERATION,
    BY_LOCK_UNIT,
    Caches,
    copy_source_names,
    deployment_pvc_names,
)
from controller.namespaces import Namespaces
from controller.runtime import Object, ObjectKey, Trigger, key_of
from shared.k8s.deployment import Deployment, ReplicaSet
from shared.k8s.pod import Pod
from shared.v1alpha1 import names
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation


class StorageTriggers:
    """Triggers that find the keys by the indexes of the caches."""

    def __init__(self, caches: Caches, namespaces: Namespaces) -> None:
        self._caches = caches
        self._namespace = namespaces.instance

    def storages_of_pod(self, pod: Pod) -> Iterable[ObjectKey]:
        """Return the storages whose volumes the pod uses."""
        return self._keys_of_names(pod.spec.pvc_names)

    def storages_of_deployment(self, deployment: Deployment) -> Iterable[ObjectKey]:
        """Return the storages that the pods of the Deployment would use."""
        return self._keys_of_names(deployment_pvc_names(deployment))

    def storages_of_replica_set(self, replica_set: ReplicaSet) -> Iterable[ObjectKey]:
        """Return the storages that the pods of the ReplicaSet would use."""
        return self._keys_of_names(replica_set.spec.template.spec.pvc_names)

    def storages_of_unit(self, unit: GPUUnit) -> Iterable[ObjectKey]:
        """Return the storages that the unit mounts, and those that it still has locked."""
        locked = self._caches.storages.by_index(self._namespace, BY_LOCK_UNIT, unit.metadata.name)
        mounted = self._keys_of_names(mount.name for mount in unit.spec.storage_mounts)
        return [*mounted, *map(key_of, locked)]

    def storages_of_operation(self, operation: Operation) -> Iterable[ObjectKey]:
        """Return the storages that the operation has locked."""
        storages = self._caches.storages.by_index(
            self._namespace, BY_LOCK_OPERATION, operation.spec.operation_id
        )
        return map(key_of, storages)

    def copies_and_source(self, storage: GPUStorage) -> Iterable[ObjectKey]:
        """Return the copies of the storage, and its own copy source."""
        copies = self._caches.storages.by_index(
            self._namespace, BY_COPY_SOURCE, storage.metadata.name
        )
        return [*map(key_of, copies), *self._keys_of_names(copy_source_names(storage))]

    def all_storages(self, _: Object) -> Iterable[ObjectKey]:
        """Return all storages: classes change so rarely that an index is not worth its cost."""
        return map(key_of, self._caches.storages.all())

    def on_name_release(self) -> Trigger:
        """Return a trigger for the storage whose child waited for the name of a deleted object.

        The object had no controller. Such deletions are too rare for an index.
        """

        def keys(old: Object | None, new: Object | None) -> Iterable[ObjectKey]:
            if new is not None or old is None or has_controller(old):
                return
            for storage in self._caches.storages.all():
                name = storage.metadata.name
                if old.metadata.name in (names.prepare_job_name(name), names.accessor_name(name)):
                    yield key_of(storage)

        return keys

    def _keys_of_names(self, names: Iterable[str]) -> Iterable[ObjectKey]:
        return [ObjectKey(self._namespace, name) for name in names]


def has_controller(child: Object) -> bool:
    return any(owner.controller for owner in child.metadata.owner_references)
