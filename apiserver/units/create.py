"""From stock to a user's unit: every step can be repeated, by anybody, at any time.

The record names the stock; the claim marks it; the unit is made; the record is closed with the
unit's uid. Whoever finds the record unfinished goes on from what is there.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apiserver.clock import Clock
from apiserver.error_mapping import service_error_from_kube
from apiserver.errors import AlreadyExistsError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.operations.failure_text import failure_text
from apiserver.operations.store import BegunOperation, OperationStore, has_failed, is_final
from apiserver.units.commands import CreateUnit
from apiserver.units.manifest import is_created_by, source_stock_uid, unit_manifest
from apiserver.units.stock_claims import StockClaim, StockClaims
from apiserver.units.stock_selection import StockSelector
from apiserver.units.storage_locks import StorageLocks
from apiserver.units.store import UnitStore
from shared.v1alpha1 import gpuunit
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, StockRef
from shared.v1alpha1.phases import OperationPhase

STRAY_RETRY_SECONDS: Final = 0.2


@dataclass(slots=True)
class InMemoryState:
    """What this process has of an operation, and so need not read: the stock, later the unit."""

    stock_unit: GPUUnit | None = None
    unit: GPUUnit | None = None


@dataclass(frozen=True, slots=True)
class BegunCreate:
    """A record to go on with; only for one that is new its stock is in the hand."""

    begun_operation: BegunOperation
    memory: InMemoryState


class UnitCreator:
    """Begins operations and carries them on until they are final."""

    def __init__(
        self,
        unit_store: UnitStore,
        operations: OperationStore,
        stock_selector: StockSelector,
        storage_locks: StorageLocks,
        stock_claims: StockClaims,
        clock: Clock,
    ) -> None:
        self._unit_store = unit_store
        self._operations = operations
        self._stock_selector = stock_selector
        self._storage_locks = storage_locks
        self._stock_claims = stock_claims
        self._clock = clock

    async def begin(self, command: CreateUnit) -> BegunCreate:
        """Record the request with the stock named in it; where that cannot be, write nothing."""
        taken, chosen, *missing = await asyncio.gather(
            self._unit_store.find(command.name),
            self._stock_selector.select(command.spec_name, command.stock_name),
            self._storage_locks.missing_storage_error(command.storage_mounts),
            self._unit_store.missing_function_error(command),
        )
        refusal = next(filter(None, missing), None)
        if taken is not None or refusal is not None or chosen is None:
            record = await self._operations.find_same(command)
            if record is None:
                raise refusal or await self._begin_error(command, taken)
            return BegunCreate(BegunOperation(record, is_new=False), InMemoryState())
        begun = await self._operations.begin(command, stock_ref=stock_ref_of(chosen))
        return BegunCreate(begun, InMemoryState(chosen if begun.is_new else None))

    async def finish(
        self, operation: Operation, command: CreateUnit, memory: InMemoryState | None = None
    ) -> Operation:
        """The record once it is final; with stock in the hand nothing can have happened yet."""
        memory = memory or InMemoryState()
        while not is_final(operation):
            settled = (
                None if memory.stock_unit else await self._resolve_existing_unit(operation, command)
            )
            operation = settled or await self._try_create(operation, command, memory)
        return operation

    async def resume(self, operation: Operation) -> Operation:
        """Finish an operation that another process left unfinished."""
        fields = {**(operation.spec.request or {}), "operation_id": operation.spec.operation_id}
        return await self.finish(operation, msgspec.convert(fields, CreateUnit))

    async def _resolve_existing_unit(
        self, operation: Operation, command: CreateUnit
    ) -> Operation | None:
        """What the unit of that name means for the record; None where there is none."""
        unit = await self._unit_store.find(command.name)
        if unit is None:
            return None
        if not is_created_by(unit, command.operation_id):
            return await self._mark_failed(operation, unit_exists_error(command.name))
        stock = operation.spec.stock
        if stock is None or source_stock_uid(unit) != stock.uid:
            await self._clock.sleep(STRAY_RETRY_SECONDS)  # a stray, which the controller removes
            return await self._operations.reread(operation)
        if operation.status.attempt:
            return await self._adopt_unit(operation, command, unit, stock)
        return await self._mark_succeeded(operation, unit)

    async def _adopt_unit(
        self, operation: Operation, command: CreateUnit, unit: GPUUnit, stock_ref: StockRef
    ) -> Operation:
        """Make the unit of an earlier attempt ours, with what was released when that failed."""
        if (ended := await self._lock_storages(operation, command)) is not None:
            return ended
        if await self._stock_claims.acquire(operation, stock_ref, command.name, None) is None:
            return await self._reselect_stock(operation, command)
        if not await self._unit_store.adopt(unit, operation.status.attempt):
            return await self._operations.reread(operation)
        return await self._mark_succeeded(operation, unit)

    async def _try_create(
        self, operation: Operation, command: CreateUnit, memory: InMemoryState
    ) -> Operation:
        """Lock its storages, claim its stock and make the unit; or name other stock."""
        if (ended := await self._lock_storages(operation, command)) is not None:
            return ended
        stock = operation.spec.stock
        chosen, memory.stock_unit = memory.stock_unit, None
        claim = None
        if stock is not None:
            claim = await self._stock_claims.acquire(operation, stock, command.name, chosen)
        if stock is None or claim is None:
            return await self._reselect_stock(operation, command)
        operation = await self._operations.reread(operation)
        if operation.spec.stock is None or operation.spec.stock.uid != stock.uid:
            await self._stock_claims.release(claim)
            return operation
        # A record that was closed in the meantime may hold a unit from this very stock.
        return (
            operation
            if is_final(operation)
            else await self._create_unit(operation, command, claim, memory)
        )

    async def _lock_storages(self, operation: Operation, command: CreateUnit) -> Operation | None:
        """Lock the storages; the record where that ends the operation, or others have ended it."""
        held = await self._storage_locks.acquire(operation, command)
        if held.error is not None:
            return await self._mark_failed(operation, held.error)
        current = await self._operations.reread(operation) if held.acquired else operation
        if has_failed(current):  # else the locks are its unit's
            await self._storage_locks.release(held)
        return current if is_final(current) else None

    async def _reselect_stock(self, operation: Operation, command: CreateUnit) -> Operation:
        """The named stock was seen lost."""
        chosen = None
        if command.stock_name is None:
            chosen = await self._stock_selector.select_another(command.spec_name)
        if chosen is None:
            shortage = await self._stock_selector.shortage_error(
                command.spec_name, command.stock_name
            )
            return await self._mark_failed(operation, shortage)
        named = await self._operations.assign_stock(operation, stock_ref_of(chosen))
        return named or await self._operations.reread(operation)

    async def _create_unit(
        self,
        operation: Operation,
        command: CreateUnit,
        stock_claim: StockClaim,
        memory: InMemoryState,
    ) -> Operation:
        try:
            unit = await self._unit_store.create(unit_manifest(command, stock_claim.stock_unit))
        except kube_errors.AlreadyExistsError:
            return await self._operations.reread(
                operation
            )  # by us before, or by another: look again
        except (kube_errors.InvalidError, kube_errors.QuotaExceededError) as error:
            # The answer to the same call may have been lost: a quota is asked before the name.
            if await self._unit_store.find(command.name) is not None:
                return await self._operations.reread(operation)
            return await self._mark_failed(operation, service_error_from_kube(error))
        memory.unit = unit
        return await self._mark_succeeded(operation, unit)

    async def _mark_succeeded(self, operation: Operation, unit: GPUUnit) -> Operation:
        closed = await self._operations.update_status(operation, succeeded_status(unit))
        return closed or await self._operations.reread(operation)

    async def _mark_failed(self, operation: Operation, error: ServiceError) -> Operation:
        """What it claims is released by the controller, which sees that it has failed."""
        status = {"phase": OperationPhase.FAILED.value, "message": failure_text(error)}
        failed = await self._operations.update_status(operation, status)
        return failed or await self._operations.reread(operation)

    async def _begin_error(
        self, command: CreateUnit, existing_unit: GPUUnit | None
    ) -> ServiceError:
        if existing_unit is not None:
            return unit_exists_error(command.name)
        return await self._stock_selector.shortage_error(command.spec_name, command.stock_name)


def stock_ref_of(stock_unit: GPUUnit) -> StockRef:
    return StockRef(name=stock_unit.metadata.name, uid=stock_unit.metadata.uid)


def unit_exists_error(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"there is a unit {name!r} of another operation; choose another name")


def succeeded_status(unit: GPUUnit) -> dict[str, Any]:
    """What closes a record."""
    meta = unit.metadata
    made = {
        "kind": gpuunit.KIND,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    return {
        "phase": OperationPhase.SUCCEEDED.value,
        "requested": 1,
        "created": 1,
        "objects": [made],
    }
