"""The use cases of functions."""

from typing import Protocol

from apiserver.kube.port import Page
from apiserver.operations.result import DeletedObject, OperationResult
from apiserver.serverless_commands import (
    ChangeFunction,
    CreateFunction,
    DeleteFunction,
    ListFunctions,
)
from shared.v1alpha1.function import Function
from shared.v1alpha1.operation import Operation


class FunctionServicePort(Protocol):
    """User code that answers invocations."""

    async def create(
        self, command: CreateFunction
    ) -> OperationResult[Function | DeletedObject | Operation]:
        """Make a function; OperationConflictError, AlreadyExistsError, InvalidRequestError."""
        ...

    async def list(self, query: ListFunctions) -> Page[Function]:
        """One page of functions; ContinueExpiredError."""
        ...

    async def get(self, name: str) -> Function:
        """The function as it is now; NotFoundError."""
        ...

    async def change(self, command: ChangeFunction) -> Function:
        """Change a function; NotFoundError, PreconditionFailedError, InvalidRequestError."""
        ...

    async def delete(self, command: DeleteFunction) -> Function | None:
        """Delete a function; None once it is gone. NotFoundError, ConflictError with work."""
        ...
