"""Fake services that record their calls and return scripted results."""

from dataclasses import dataclass, field
from typing import Any

from apiserver.errors import NotFoundError, PreconditionFailedError
from apiserver.kube.port import Page
from apiserver.kube.resources import Revision, revision_of
from apiserver.operations.result import DeletedObject, OperationResult
from apiserver.operations.service import JobService
from apiserver.specs.service import SpecService, SpecSummary
from apiserver.stock_pools.commands import CreatePool, PoolSettings
from apiserver.stock_pools.service import PoolService
from apiserver.stock_units.commands import SeedStock
from apiserver.stock_units.service import StockPage, StockService
from apiserver.storages.commands import ChangeStorage, CreateStorage, ListStorages
from apiserver.storages.service import StorageService
from apiserver.units.commands import ChangeUnit, CreateUnit, ListUnits
from apiserver.units.service import UnitService
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.phases import OperationPhase
from shared.v1alpha1.stockpool import StockPool


@dataclass
class FakeStockService(StockService):
    accepted: OperationResult[Operation] | None = None
    page: StockPage = field(default_factory=lambda: StockPage(Page(())))
    calls: list[Any] = field(default_factory=list)

    async def seed(self, command: SeedStock) -> OperationResult[Operation]:
        self.calls.append(command)
        assert self.accepted
        return self.accepted

    async def list(self, query: ListUnits) -> StockPage:
        self.calls.append(query)
        return self.page

    async def delete(self, name: str) -> None:
        self.calls.append(name)


@dataclass
class FakePoolService(PoolService):
    pools: dict[str, StockPool] = field(default_factory=dict)
    accepted: OperationResult[StockPool | DeletedObject | Operation] | None = None
    calls: list[Any] = field(default_factory=list)

    async def create(
        self, command: CreatePool
    ) -> OperationResult[StockPool | DeletedObject | Operation]:
        self.calls.append(command)
        assert self.accepted
        return self.accepted

    async def list(self, limit: int, continue_token: str) -> Page[StockPool]:
        self.calls.append((limit, continue_token))
        return Page(tuple(self.pools.values()))

    async def get(self, name: str) -> StockPool:
        if name not in self.pools:
            raise NotFoundError(f"there is no pool {name}")
        return self.pools[name]

    async def replace(
        self, name: str, settings: PoolSettings, if_match: tuple[Revision, ...] | None
    ) -> StockPool:
        self.calls.append((name, settings, if_match))
        return await self.get(name)

    async def delete(self, name: str) -> None:
        await self.get(name)
        del self.pools[name]


@dataclass
class FakeSpecService(SpecService):
    specs: tuple[SpecSummary, ...] = ()

    async def list(self) -> tuple[SpecSummary, ...]:
        return self.specs


@dataclass
class FakeJobService(JobService):
    jobs: dict[str, Operation] = field(default_factory=dict)
    calls: list[Any] = field(default_factory=list)

    async def list(
        self,
        operation_type: OperationType | None,
        phase: OperationPhase | None,
        limit: int,
        continue_token: str,
    ) -> Page[Operation]:
        self.calls.append((operation_type, phase, limit, continue_token))
        return Page(tuple(self.jobs.values()), "next", 3)

    async def get(self, operation_id: str) -> Operation:
        if operation_id not in self.jobs:
            raise NotFoundError("there is no such operation")
        return self.jobs[operation_id]


@dataclass
class FakeUnitService(UnitService):
    units: dict[str, GPUUnit] = field(default_factory=dict)
    accepted: OperationResult[GPUUnit | DeletedObject | Operation] | None = None
    calls: list[Any] = field(default_factory=list)

    async def create(
        self, command: CreateUnit
    ) -> OperationResult[GPUUnit | DeletedObject | Operation]:
        self.calls.append(command)
        assert self.accepted
        return self.accepted

    async def list(self, query: ListUnits) -> Page[GPUUnit]:
        self.calls.append(query)
        return Page(tuple(self.units.values()))

    async def get(self, name: str) -> GPUUnit:
        if name not in self.units:
            raise NotFoundError(f"there is no unit {name}")
        return self.units[name]

    async def wait_ready(self, name: str, timeout_seconds: float) -> GPUUnit:
        self.calls.append((name, timeout_seconds))
        return await self.get(name)

    async def change(self, command: ChangeUnit) -> GPUUnit:
        self.calls.append(command)
        return await self._get_matching(command.name, command.if_match)

    async def delete(self, name: str, if_match: tuple[Revision, ...] | None = None) -> None:
        await self._get_matching(name, if_match)
        del self.units[name]

    async def _get_matching(self, name: str, if_match: tuple[Revision, ...] | None) -> GPUUnit:
        unit = await self.get(name)
        if if_match is not None and revision_of(unit.metadata) not in if_match:
            raise PreconditionFailedError("the unit was changed since")
        return unit


@dataclass
class FakeStorageService(StorageService):
    storages: dict[str, GPUStorage] = field(default_factory=dict)
    accepted: OperationResult[GPUStorage | DeletedObject | Operation] | None = None
    calls: list[Any] = field(default_factory=list)

    async def create(
        self, command: CreateStorage
    ) -> OperationResult[GPUStorage | DeletedObject | Operation]:
        self.calls.append(command)
        assert self.accepted
        return self.accepted

    async def list(self, query: ListStorages) -> Page[GPUStorage]:
        self.calls.append(query)
        return Page(tuple(self.storages.values()))

    async def get(self, name: str) -> GPUStorage:
        if name not in self.storages:
            raise NotFoundError(f"there is no storage {name}")
        return self.storages[name]

    async def change(self, command: ChangeStorage) -> GPUStorage:
        self.calls.append(command)
        return await self.get(command.name)

    async def recover(self, name: str) -> GPUStorage:
        self.calls.append(name)
        return await self.get(name)

    async def delete(self, name: str) -> None:
        await self.get(name)
        del self.storages[name]
