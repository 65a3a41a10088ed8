"""The use cases of storages."""

from typing import Protocol

from apiserver.commands import ChangeStorage, CreateStorage, ListStorages
from apiserver.kube.port import Page
from apiserver.operations.result import DeletedObject, OperationResult
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.operation import Operation


class StorageServicePort(Protocol):
    """Files that outlive the units that use them."""

    async def create(
        self, command: CreateStorage
    ) -> OperationResult[GPUStorage | DeletedObject | Operation]:
        """Make a storage; OperationConflictError, AlreadyExistsError, ConflictError."""
        ...

    async def list(self, query: ListStorages) -> Page[GPUStorage]:
        """One page of storages; ContinueExpiredError."""
        ...

    async def get(self, name: str) -> GPUStorage:
        """The storage as it is now; NotFoundError."""
        ...

    async def change(self, command: ChangeStorage) -> GPUStorage:
        """Change a storage.

        NotFoundError, PreconditionFailedError, InvalidRequestError, ConflictError.
        """
        ...

    async def recover(self, name: str) -> GPUStorage:
        """Have a failed filling done again; NotFoundError, ConflictError."""
        ...

    async def delete(self, name: str) -> None:
        """Delete a storage and its files; NotFoundError, ConflictError while it is mounted."""
        ...
