"""Unfinished operations are resumed, by any replica, at its start and ever after."""

import logging
from random import Random
from typing import Final

import msgspec

from apiserver.clock import Clock
from apiserver.commands import CreateUnit
from apiserver.errors import ServiceUnavailableError
from apiserver.kube import errors as kube_errors
from apiserver.kube.port import Objects, Selection
from apiserver.kube.resources import OPERATIONS
from apiserver.operations.create_object import ObjectCreation
from apiserver.operations.idempotency import Requests, Work
from apiserver.operations.store import FINAL
from apiserver.stock_units.service import StockService
from apiserver.units.create import Creation
from shared.v1alpha1.function import Function
from shared.v1alpha1.gpustorage import GPUStorage
from shared.v1alpha1.operation import Operation, OperationType
from shared.v1alpha1.stockpool import StockPool

EVERY_SECONDS: Final = 5.0
PAGE: Final = 500

log = logging.getLogger(__name__)


class Resumption:
    """Several replicas may resume the same record: that does no harm."""

    def __init__(
        self,
        objects: Objects,
        namespace: str,
        requests: Requests,
        work: "Resumable",
        clock: Clock,
        randomness: Random,
    ) -> None:
        self._objects = objects
        self._namespace = namespace
        self._requests = requests
        self._work = work
        self._clock = clock
        self._randomness = randomness

    async def run(self) -> None:
        """Look for unfinished records for ever; each replica at its own moments."""
        known: set[str] = set()
        while True:
            try:
                known = await self.resume(known)
            except (kube_errors.ClusterError, ServiceUnavailableError) as error:
                log.warning("resumption_delayed", extra={"error": str(error)})
            await self._clock.sleep(EVERY_SECONDS * self._randomness.uniform(0.75, 1.25))

    async def resume(self, known: set[str]) -> set[str]:
        """Resume what was unfinished a while ago and is so still; the unfinished ones of now.

        A record that is seen for the first time is most likely being worked on.
        """
        unfinished = ",".join(f"status.phase!={phase}" for phase in sorted(FINAL))
        selection = Selection(fields=unfinished, limit=PAGE)
        page = await self._objects.list(OPERATIONS, self._namespace, selection)
        found = {each.metadata.uid + each.metadata.resource_version: each for each in page.items}
        for mark, record in found.items():
            work = self._work.of(record)
            if mark in known and work is not None:
                log.info("operation_resumed", extra={"operation": record.spec.operation_id})
                self._requests.begin(record, work)
        return set(found)


class Resumable:
    """The work of each type of operation."""

    def __init__(
        self,
        creation: Creation,
        stock: StockService,
        pools: ObjectCreation[StockPool],
        storages: ObjectCreation[GPUStorage],
        functions: ObjectCreation[Function],
    ) -> None:
        self._creation = creation
        self._stock = stock
        self._pools = pools
        self._storages = storages
        self._functions = functions

    def of(self, record: Operation) -> Work | None:
        """What brings the record to its end; None for types that this version does not know."""
        match record.spec.type:
            case OperationType.CREATE_GPU_UNIT:
                return self._create_unit
            case OperationType.SEED_STOCK_UNITS:
                return self._stock.carry_on
            case OperationType.CREATE_STOCK_POOL:
                return self._pools.finish
            case OperationType.CREATE_GPU_STORAGE:
                return self._storages.finish
            case OperationType.CREATE_FUNCTION:
                return self._functions.finish
            case _:
                return None

    async def _create_unit(self, record: Operation) -> Operation:
        asked = {**(record.spec.request or {}), "operation_id": record.spec.operation_id}
        return await self._creation.finish(record, msgspec.convert(asked, CreateUnit))
