"""The use cases of users' units."""

from typing import Protocol

from apiserver.commands import ChangeUnit, CreateUnit, ListUnits
from apiserver.kube.port import Page
from apiserver.kube.resources import Revision
from apiserver.operations.result import DeletedObject, OperationResult
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation


class UnitServicePort(Protocol):
    """Machines that users have."""

    async def create(
        self, command: CreateUnit
    ) -> OperationResult[GPUUnit | DeletedObject | Operation]:
        """Turn ready stock into a unit; UNFINISHED before the time of a request is up.

        OperationConflictError, AlreadyExistsError, InsufficientCapacityError, ConflictError.
        """
        ...

    async def list(self, query: ListUnits) -> Page[GPUUnit]:
        """One page of units; ContinueExpiredError."""
        ...

    async def get(self, name: str) -> GPUUnit:
        """The unit as it is now; NotFoundError."""
        ...

    async def wait_ready(self, name: str, timeout_seconds: float) -> GPUUnit:
        """The unit once it is Ready or Failed, or as it is after `seconds`; NotFoundError."""
        ...

    async def change(self, command: ChangeUnit) -> GPUUnit:
        """Change a unit; NotFoundError, PreconditionFailedError, InvalidRequestError."""
        ...

    async def delete(self, name: str, if_match: tuple[Revision, ...] | None = None) -> None:
        """Delete a unit, whatever it is at or only so; NotFoundError, PreconditionFailedError."""
        ...
