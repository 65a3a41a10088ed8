"""The use cases of stock pools."""

from typing import Protocol

from apiserver.commands import CreatePool, PoolSettings
from apiserver.kube.port import Page
from apiserver.kube.resources import Revision
from apiserver.operations.result import DeletedObject, OperationResult
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stockpool import StockPool


class PoolServicePort(Protocol):
    """Stock that looks after itself."""

    async def create(
        self, command: CreatePool
    ) -> OperationResult[StockPool | DeletedObject | Operation]:
        """Make a pool; OperationConflictError, AlreadyExistsError, ConflictError."""
        ...

    async def list(self, limit: int, continue_token: str) -> Page[StockPool]:
        """One page of pools; ContinueExpiredError."""
        ...

    async def get(self, name: str) -> StockPool:
        """The pool as it is now; NotFoundError."""
        ...

    async def replace(
        self, name: str, settings: PoolSettings, if_match: tuple[Revision, ...] | None
    ) -> StockPool:
        """Give a pool these settings; NotFoundError, PreconditionFailedError, ConflictError."""
        ...

    async def delete(self, name: str) -> None:
        """Delete a pool and its unclaimed stock; NotFoundError."""
        ...
