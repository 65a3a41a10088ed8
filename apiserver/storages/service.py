"""Storages: created, read, changed, recovered and deleted."""

from collections.abc import Callable
from typing import Any

import msgspec

from apiserver.errors import ConflictError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import JsonObject, KubeClient, ListOptions, Page
from apiserver.kube.resources import GPU_STORAGES
from apiserver.operations.create_object import ObjectCreator, name_exists_error
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.resource_store import ResourceStore
from apiserver.storages.commands import ChangeStorage, CreateStorage, ListStorages
from apiserver.storages.patch import (
    change_patch,
    is_expansion_forbidden,
    is_growing,
    recovery_patch,
    require_no_shrink,
    require_recoverable,
)
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpustorage import GPUStorage, GPUStorageSpec
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.storage_lock import parse_storage_lock


class StorageService:
    """Creates, reads, changes, recovers and deletes storages."""

    def __init__(
        self,
        cluster: KubeClient,
        namespace: str,
        creator: ObjectCreator[GPUStorage],
        make_id: Callable[[], str],
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._storages = ResourceStore(cluster, GPU_STORAGES, namespace, "storage")
        self._creator = creator
        self._make_id = make_id

    async def create(
        self, command: CreateStorage
    ) -> OperationResult[GPUStorage | DeletedObject | Operation]:
        """Create a storage, once for all requests of its operation if it has an operationID."""
        spec = storage_spec(command)
        if command.operation_id:
            return await self._creator.create(command, lambda: spec)
        body = {"metadata": storage_metadata(command), "spec": msgspec.to_builtins(spec)}
        try:
            storage = await self._cluster.create(GPU_STORAGES, self._namespace, body)
        except kube_errors.AlreadyExistsError:
            raise name_exists_error(GPU_STORAGES, command.name) from None
        return OperationResult(storage, ResultKind.NEW)

    async def list(self, query: ListStorages) -> Page[GPUStorage]:
        """Return one page of storages; ContinueTokenExpiredError."""
        fields = f"status.phase={query.phase}" if query.phase else ""
        selection = ListOptions(query.label, fields, query.limit, query.continue_token)
        return await self._storages.list(selection)

    async def get(self, name: str) -> GPUStorage:
        """Return the storage as it is now; NotFoundError."""
        return await self._storages.get(name)

    async def change(self, command: ChangeStorage) -> GPUStorage:
        """Write the given fields; PreconditionFailedError if the caller saw another revision."""

        async def make_patch(storage: GPUStorage) -> JsonObject:
            require_no_shrink(storage, command.size)
            if is_growing(storage, command.size):
                await self._require_expansion(storage)
            return change_patch(storage, command)

        return await self._storages.patch(command.name, make_patch, command.if_match)

    async def recover(self, name: str) -> GPUStorage:
        """Request another prepare after a failed one; NotFoundError, ConflictError."""
        recovery_id = self._make_id()

        async def make_patch(storage: GPUStorage) -> JsonObject:
            require_recoverable(storage)
            return recovery_patch(storage, recovery_id)

        return await self._storages.patch(name, make_patch)

    async def delete(self, name: str) -> None:
        """Delete the storage at a version at which it is not mounted; ConflictError if it is."""
        await self._storages.delete(name, require_unmounted)

    async def _require_expansion(self, storage: GPUStorage) -> None:
        name = storage.status.storage_class_name or storage.spec.storage_class_name
        if is_expansion_forbidden(name, await self._cluster.list_storage_classes()):
            storage_class = f"StorageClass {name!r}" if name else "the default StorageClass"
            raise ConflictError(
                f"the storage cannot grow: {storage_class} does not allow expansion"
            )


def storage_spec(command: CreateStorage) -> GPUStorageSpec:
    return GPUStorageSpec(
        size=command.size,
        storage_class_name=command.storage_class_name,
        prepare=command.prepare,
        accessor=command.accessor,
    )


def storage_metadata(command: CreateStorage) -> dict[str, Any]:
    """Return the metadata of a storage without an operation."""
    labels = {**command.labels, wellknown.MANAGED_BY_LABEL: wellknown.MANAGED_BY_VALUE}
    return {"name": command.name, "labels": labels}


def require_unmounted(storage: GPUStorage) -> None:
    """Raise ConflictError while a unit holds the lock; the lock of a prepare does not count."""
    lock = parse_storage_lock(storage.metadata.annotations)
    if lock is not None and not lock.prepare:
        raise ConflictError(f"the storage is in use by {lock.holder_text}; delete that first")
