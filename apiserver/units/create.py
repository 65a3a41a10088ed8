"""Creates a unit from stock, in this order.

1. `begin` checks the request, chooses stock and records both as an Operation.
2. `_join` restarts the operation if it has failed and runs one task for it; every request with
   its operationID waits for that task, until the time of the request is up.
3. `finish` is the task: it locks the storages, claims the stock, creates the unit and closes the
   operation with the uid of the unit.
4. `_created_unit` is the result.

Every step may be repeated, by any process at any time: a process that finds an unfinished
operation continues from the objects that exist.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec

from apiserver.error_mapping import service_error_from_kube
from apiserver.errors import AlreadyExistsError, ConflictError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.operations.failure_text import failure_text
from apiserver.operations.idempotency import IdempotentRunner
from apiserver.operations.result import DeletedObject, OperationResult, ResultKind
from apiserver.operations.store import BegunOperation, OperationStore, has_failed, is_final
from apiserver.units.commands import CreateUnit
from apiserver.units.manifest import is_created_by, source_stock_uid, unit_manifest
from apiserver.units.stock_claims import StockClaim, StockClaims
from apiserver.units.stock_selection import StockSelector
from apiserver.units.storage_locks import StorageLocks
from apiserver.units.store import UnitStore
from shared.clock import Clock
from shared.v1alpha1 import gpuunit
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, StockRef, succeeded_status
from shared.v1alpha1.phases import OperationPhase

# More parallel creates would not be faster.
MAX_CONCURRENT_CREATES: Final = 32
STRAY_RETRY_SECONDS: Final = 0.2


@dataclass(slots=True)
class InMemoryState:
    """Objects of one create that this process has in memory, which saves reading them."""

    stock_unit: GPUUnit | None = None
    unit: GPUUnit | None = None


class UnitCreator:
    """Creates units from stock, each once for all requests of its operation."""

    def __init__(
        self,
        unit_store: UnitStore,
        operations: OperationStore,
        stock_selector: StockSelector,
        storage_locks: StorageLocks,
        stock_claims: StockClaims,
        runner: IdempotentRunner,
        clock: Clock,
    ) -> None:
        self._unit_store = unit_store
        self._operations = operations
        self._stock_selector = stock_selector
        self._storage_locks = storage_locks
        self._stock_claims = stock_claims
        self._runner = runner
        self._clock = clock
        self._create_slots = asyncio.Semaphore(MAX_CONCURRENT_CREATES)

    async def create(
        self, command: CreateUnit
    ) -> OperationResult[GPUUnit | DeletedObject | Operation]:
        """Create a unit from ready stock; UNFINISHED with the operation when the time is up.

        OperationConflictError, AlreadyExistsError, InsufficientCapacityError, ConflictError.
        """
        deadline = self._runner.deadline()
        async with self._create_slots:
            begun, memory = await self.begin(command)
            if begun.is_new:
                return await self._join(begun, command, memory, deadline)
        # This may wait for the task of another request, and needs no slot for that.
        return await self._join(begun, command, memory, deadline)

    async def resume(self, operation: Operation) -> Operation:
        """Finish an operation that another process left unfinished."""
        fields = {**(operation.spec.request or {}), "operation_id": operation.spec.operation_id}
        return await self.finish(operation, msgspec.convert(fields, CreateUnit))

    # 1. Begin

    async def begin(self, command: CreateUnit) -> tuple[BegunOperation, InMemoryState]:
        """Record the request with its stock; if it must be refused, raise and write nothing.

        An operation that exists already is returned even if the request could not begin now.
        """
        existing, stock_unit, *missing = await asyncio.gather(
            self._unit_store.find(command.name),
            self._stock_selector.select(command.spec_name, command.stock_name),
            self._storage_locks.missing_storage_error(command.storage_mounts),
            self._unit_store.missing_function_error(command),
        )
        missing_error = next(filter(None, missing), None)
        if existing is not None or missing_error is not None or stock_unit is None:
            operation = await self._operations.find_same(command)
            if operation is None:
                raise missing_error or await self._begin_error(command, existing)
            return BegunOperation(operation, is_new=False), InMemoryState()
        begun = await self._operations.begin(command, stock_ref=stock_ref_of(stock_unit))
        return begun, InMemoryState(stock_unit if begun.is_new else None)

    async def _begin_error(self, command: CreateUnit, existing: GPUUnit | None) -> ServiceError:
        if existing is not None:
            return unit_exists_error(command.name)
        return await self._stock_selector.shortage_error(command.spec_name, command.stock_name)

    # 2. Join

    async def _join(
        self, begun: BegunOperation, command: CreateUnit, memory: InMemoryState, deadline: float
    ) -> OperationResult[GPUUnit | DeletedObject | Operation]:
        """Wait for the task of the operation, which is started if there is none."""
        begun = await self._runner.restart_if_failed(begun)
        result = await self._runner.join(
            begun, lambda operation: self.finish(operation, command, memory), deadline
        )
        if result.kind is ResultKind.UNFINISHED:
            return result
        return OperationResult(await self._created_unit(result.value, memory.unit), result.kind)

    # 3. Finish

    async def finish(
        self, operation: Operation, command: CreateUnit, memory: InMemoryState | None = None
    ) -> Operation:
        """Work on the operation until it is final.

        With its stock in memory the operation is new, and nothing of it can exist yet.
        """
        memory = memory or InMemoryState()
        while not is_final(operation):
            resolved = None
            if memory.stock_unit is None:
                resolved = await self._resolve_existing_unit(operation, command)
            operation = resolved or await self._try_create(operation, command, memory)
        return operation

    async def _resolve_existing_unit(
        self, operation: Operation, command: CreateUnit
    ) -> Operation | None:
        """Close the operation by the unit that has its name; None if there is no such unit."""
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
        """Take over the unit of an earlier attempt, with the locks and stock that it released."""
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
        """Lock the storages, claim the stock and create the unit; or choose other stock."""
        if (ended := await self._lock_storages(operation, command)) is not None:
            return ended
        stock = operation.spec.stock
        stock_unit, memory.stock_unit = memory.stock_unit, None
        stock_claim = None
        if stock is not None:
            stock_claim = await self._stock_claims.acquire(
                operation, stock, command.name, stock_unit
            )
        if stock is None or stock_claim is None:
            return await self._reselect_stock(operation, command)
        operation = await self._operations.reread(operation)
        if operation.spec.stock is None or operation.spec.stock.uid != stock.uid:
            await self._stock_claims.release(stock_claim)
            return operation
        # An operation that was closed in the meantime may have a unit from this very stock.
        if is_final(operation):
            return operation
        return await self._create_unit(operation, command, stock_claim, memory)

    async def _lock_storages(self, operation: Operation, command: CreateUnit) -> Operation | None:
        """Lock the storages; the operation if that fails it, or another process has closed it."""
        try:
            locked = await self._storage_locks.acquire(operation, command)
        except ConflictError as error:
            return await self._mark_failed(operation, error)
        current = await self._operations.reread(operation) if locked else operation
        if has_failed(current):  # after a success the locks are the unit's
            await self._storage_locks.release(locked)
        return current if is_final(current) else None

    async def _reselect_stock(self, operation: Operation, command: CreateUnit) -> Operation:
        """Record other stock, as the recorded one is lost; fail the operation if there is none."""
        stock_unit = None
        if command.stock_name is None:
            stock_unit = await self._stock_selector.select_another(command.spec_name)
        if stock_unit is None:
            shortage = await self._stock_selector.shortage_error(
                command.spec_name, command.stock_name
            )
            return await self._mark_failed(operation, shortage)
        assigned = await self._operations.assign_stock(operation, stock_ref_of(stock_unit))
        return assigned or await self._operations.reread(operation)

    async def _create_unit(
        self,
        operation: Operation,
        command: CreateUnit,
        stock_claim: StockClaim,
        memory: InMemoryState,
    ) -> Operation:
        try:
            unit = await self._unit_store.create(unit_manifest(command, stock_claim.stock_unit))
        except kube_errors.AlreadyExistsError:  # by an earlier call of ours, or by another process
            return await self._operations.reread(operation)
        except (kube_errors.InvalidError, kube_errors.QuotaExceededError) as error:
            # The response to the same call may have been lost: a quota is checked before the name.
            if await self._unit_store.find(command.name) is not None:
                return await self._operations.reread(operation)
            return await self._mark_failed(operation, service_error_from_kube(error))
        memory.unit = unit
        return await self._mark_succeeded(operation, unit)

    async def _mark_succeeded(self, operation: Operation, unit: GPUUnit) -> Operation:
        closed = await self._operations.update_status(
            operation, succeeded_status(gpuunit.KIND, unit.metadata)
        )
        return closed or await self._operations.reread(operation)

    async def _mark_failed(self, operation: Operation, error: ServiceError) -> Operation:
        """Fail the operation; the controller then releases its stock claim and its locks."""
        status = {"phase": OperationPhase.FAILED.value, "message": failure_text(error)}
        failed = await self._operations.update_status(operation, status)
        return failed or await self._operations.reread(operation)

    # 4. Result

    async def _created_unit(
        self, operation: Operation, cached_unit: GPUUnit | None
    ) -> GPUUnit | DeletedObject:
        """Return the unit that the operation lists, or DeletedObject if it no longer exists."""
        listed = operation.status.objects[0]
        if cached_unit is not None and cached_unit.metadata.uid == listed.uid:
            return cached_unit
        unit = await self._unit_store.find_listed(listed)
        if unit is not None:
            return unit
        return DeletedObject(listed.name, listed.namespace, listed.uid, operation.spec.operation_id)


def stock_ref_of(stock_unit: GPUUnit) -> StockRef:
    return StockRef(name=stock_unit.metadata.name, uid=stock_unit.metadata.uid)


def unit_exists_error(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"there is a unit {name!r} of another operation; choose another name")
