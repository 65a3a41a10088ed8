"""Unfinished operations are resumed, by any replica, at its start and ever after."""

import logging
from random import Random
from typing import Final

import msgspec

from apiserver.clock import Clock
from apiserver.commands import CreateUnit
from apiserver.errors import ServiceUnavailableError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import ListOptions, ObjectClient
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.create_object import ObjectCreator
from apiserver.operations.idempotency import IdempotentRunner, OperationWork
from apiserver.operations.store import FINAL_PHASES
from apiserver.stock_units.service import StockService
from apiserver.units.create import UnitCreator
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.stockpool import StockPool

RESUME_INTERVAL_SECONDS: Final = 5.0
PAGE_SIZE: Final = 500

log = logging.getLogger(__name__)


class OperationResumer:
    """Several replicas may resume the same record: that does no harm."""

    def __init__(
        self,
        objects: ObjectClient,
        namespace: str,
        runner: IdempotentRunner,
        find_work: "ResumableWork",
        clock: Clock,
        rng: Random,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._runner = runner
        self._find_work = find_work
        self._clock = clock
        self._rng = rng

    async def run(self) -> None:
        """Look for unfinished records for ever; each replica at its own moments."""
        known: set[str] = set()
        while True:
            try:
                known = await self.resume_unfinished(known)
            except (kube_errors.KubeError, ServiceUnavailableError) as error:
                log.warning("resumption_delayed", extra={"error": str(error)})
            await self._clock.sleep(RESUME_INTERVAL_SECONDS * self._rng.uniform(0.75, 1.25))

    async def resume_unfinished(self, seen_before: set[str]) -> set[str]:
        """Resume what was unfinished a while ago and is so still; the unfinished ones of now.

        A record that is seen for the first time is most likely being worked on.
        """
        unfinished = ",".join(f"status.phase!={phase}" for phase in sorted(FINAL_PHASES))
        selection = ListOptions(field_selector=unfinished, limit=PAGE_SIZE)
        page = await self._objects.list(OPERATIONS, self._namespace, selection)
        found = {each.metadata.uid + each.metadata.resource_version: each for each in page.items}
        for mark, record in found.items():
            work = self._find_work.find(record)
            if mark in seen_before and work is not None:
                log.info("operation_resumed", extra={"operation": record.spec.operation_id})
                self._runner.start(record, work)
        return set(found)


class ResumableWork:
    """The work of each type of operation."""

    def __init__(
        self,
        creator: UnitCreator,
        stock_service: StockService,
        pools: ObjectCreator[StockPool],
        storages: ObjectCreator[GPUStorage],
        functions: ObjectCreator[Function],
    ) -> None:
        self._creator = creator
        self._stock = stock_service
        self._pools = pools
        self._storages = storages
        self._functions = functions

    def find(self, operation: Operation) -> OperationWork | None:
        """What brings the record to its end; None for types that this version does not know."""
        match operation.spec.type:
            case OperationType.CREATE_GPU_UNIT:
                return self._create_unit
            case OperationType.SEED_STOCK_UNITS:
                return self._stock.finish_seeding
            case OperationType.CREATE_STOCK_POOL:
                return self._pools.finish
            case OperationType.CREATE_GPU_STORAGE:
                return self._storages.finish
            case OperationType.CREATE_FUNCTION:
                return self._functions.finish
            case _:
                return None

    async def _create_unit(self, operation: Operation) -> Operation:
        asked = {**(operation.spec.request or {}), "operation_id": operation.spec.operation_id}
        return await self._creator.finish(operation, msgspec.convert(asked, CreateUnit))
