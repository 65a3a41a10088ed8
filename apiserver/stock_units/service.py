"""Stock units: seeded, listed, and deleted unless they are claimed."""

from dataclasses import dataclass

import msgspec

from apiserver.errors import ConflictError
from apiserver.kube.port import ListOptions, ObjectClient, Page
from apiserver.kube.resources import GPU_UNITS
from apiserver.operations.idempotency import IdempotentRunner
from apiserver.operations.result import OperationResult, ResultKind
from apiserver.operations.store import OperationStore, has_succeeded
from apiserver.resource_store import ResourceStore
from apiserver.specs.catalogue import Catalogue, RequestedResources
from apiserver.specs.stock_counts import StockCount, count_stock
from apiserver.stock_units.commands import SeedStock
from apiserver.stock_units.seed import StockSeeder
from apiserver.units.commands import ListUnits
from apiserver.units.service import list_options
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.stock_claim import is_claimed
from shared.v1alpha1.unit_resources import UnitResources


@dataclass(frozen=True, slots=True)
class StockPage:
    """One page of stock, and counts of all stock."""

    page: Page[GPUUnit]
    summary: tuple[StockCount, ...] = ()


class StockService:
    """Seeds, lists and deletes stock units."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        catalogue: Catalogue,
        operations: OperationStore,
        seeder: StockSeeder,
        runner: IdempotentRunner,
    ) -> None:
        self._stock = ResourceStore(objects, GPU_UNITS, namespace, "stock unit")
        self._catalogue = catalogue
        self._operations = operations
        self._seeder = seeder
        self._runner = runner

    async def seed(self, command: SeedStock) -> OperationResult[Operation]:
        """Record a seeding, which continues after the response; OperationConflictError."""
        requested = RequestedResources(memory=command.memory, gpu=command.gpu)
        begun = await self._operations.begin_with_spec(
            command, lambda: self._catalogue.resolve_resources(command.spec_name, requested)
        )
        begun = await self._runner.restart_if_failed(begun)
        if not has_succeeded(begun.operation):
            self._runner.start(begun.operation, self.finish_seeding)
        return OperationResult(
            begun.operation, ResultKind.NEW if begun.is_new else ResultKind.REPLAY
        )

    async def finish_seeding(self, operation: Operation) -> Operation:
        """Finish a seeding, with the resources that were recorded when it began."""
        request = operation.spec.request or {}
        resources = msgspec.convert(request["settled"], UnitResources)
        return await self._seeder.finish(operation, request["replicas"], resources)

    async def list(self, query: ListUnits) -> StockPage:
        """Return one page of stock, and counts of all stock; ContinueTokenExpiredError."""
        page = await self._stock.list(list_options(query))
        is_whole = (
            not page.continue_token
            and not query.continue_token
            and not (query.phase or query.spec_name)
        )
        all_stock = page if is_whole else await self._list_all()
        return StockPage(page, count_stock(all_stock.items))

    async def delete(self, name: str) -> None:
        """Delete an unclaimed unit; NotFoundError, ConflictError for a claimed one."""
        await self._stock.delete(name, require_unclaimed)

    async def _list_all(self) -> Page[GPUUnit]:
        return await self._stock.list(ListOptions(from_cache=True))


def require_unclaimed(unit: GPUUnit) -> None:
    """Raise ConflictError for a claimed unit."""
    if is_claimed(unit):
        name = unit.metadata.name
        raise ConflictError(f"stock unit {name!r} cannot be deleted: it is claimed for a new unit")
