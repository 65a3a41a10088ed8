"""The use cases of stock units."""

from dataclasses import dataclass
from typing import Protocol

from apiserver.commands import ListUnits, SeedStock
from apiserver.kube.port import Page
from apiserver.operations.result import OperationResult
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation


@dataclass(frozen=True, slots=True)
class StockCount:
    """How many stock units of a spec are in a phase."""

    spec_name: str
    phase: str
    count: int


@dataclass(frozen=True, slots=True)
class StockPage:
    """A part of the stock, and counts of the whole of it."""

    page: Page[GPUUnit]
    summary: tuple[StockCount, ...] = ()


class StockServicePort(Protocol):
    """Reservations that wait for users."""

    async def seed(self, command: SeedStock) -> OperationResult[Operation]:
        """Record that stock shall be made; OperationConflictError, ConflictError."""
        ...

    async def list(self, query: ListUnits) -> StockPage:
        """One page of stock; ContinueExpiredError."""
        ...

    async def delete(self, name: str) -> None:
        """Delete an unclaimed one; NotFoundError, ConflictError where it is claimed."""
        ...
