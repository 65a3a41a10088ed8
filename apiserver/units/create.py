"""From stock to a user's unit: every step can be repeated, by anybody, at any time.

The record names the stock; the claim marks it; the unit is made; the record is closed with the
unit's uid. Whoever finds the record unfinished goes on from what is there.
"""

import asyncio
from dataclasses import dataclass
from typing import Any, Final

from apiserver.clock import Clock
from apiserver.commands import CreateUnit
from apiserver.error_mapping import service_error
from apiserver.errors import AlreadyExistsError, ServiceError
from apiserver.kube import errors as kube_errors
from apiserver.operations.failure_text import failure_text
from apiserver.operations.store import Begun, Records, has_failed, is_final
from apiserver.units.manifest import is_made_by, source_uid, unit_body
from apiserver.units.stock_claims import Claim, Claims
from apiserver.units.stock_selection import StockChoice
from apiserver.units.storage_locks import MountLocks
from apiserver.units.store import ActiveUnits
from shared.v1alpha1 import gpuunit
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation, StockRef
from shared.v1alpha1.phases import OperationPhase

STRAY_PAUSE: Final = 0.2


@dataclass(slots=True)
class Hand:
    """What this process has of an operation, and so need not read: the stock, later the unit."""

    chosen: GPUUnit | None = None
    made: GPUUnit | None = None


@dataclass(frozen=True, slots=True)
class Start:
    """A record to go on with; only for one that is new its stock is in the hand."""

    begun: Begun
    hand: Hand


class Creation:
    """Begins operations and carries them on until they are final."""

    def __init__(
        self,
        units: ActiveUnits,
        records: Records,
        choice: StockChoice,
        locks: MountLocks,
        claims: Claims,
        clock: Clock,
    ) -> None:
        self._units = units
        self._records = records
        self._choice = choice
        self._locks = locks
        self._claims = claims
        self._clock = clock

    async def begin(self, command: CreateUnit) -> Start:
        """Record the request with the stock named in it; where that cannot be, write nothing."""
        taken, chosen, *missing = await asyncio.gather(
            self._units.find(command.name),
            self._choice.first(command.spec_name, command.stock_name),
            self._locks.missing(command.storage_mounts),
            self._units.ownerless(command),
        )
        refusal = next(filter(None, missing), None)
        if taken is not None or refusal is not None or chosen is None:
            record = await self._records.find_same(command)
            if record is None:
                raise refusal or await self._refusal(command, taken)
            return Start(Begun(record, is_new=False), Hand())
        begun = await self._records.begin(command, stock=reference(chosen))
        return Start(begun, Hand(chosen if begun.is_new else None))

    async def finish(
        self, record: Operation, command: CreateUnit, hand: Hand | None = None
    ) -> Operation:
        """The record once it is final; with stock in the hand nothing can have happened yet."""
        hand = hand or Hand()
        while not is_final(record):
            settled = None if hand.chosen else await self._settle(record, command)
            record = settled or await self._advance(record, command, hand)
        return record

    async def _settle(self, record: Operation, command: CreateUnit) -> Operation | None:
        """What the unit of that name means for the record; None where there is none."""
        unit = await self._units.find(command.name)
        if unit is None:
            return None
        if not is_made_by(unit, command.operation_id):
            return await self._fail(record, name_taken(command.name))
        stock = record.spec.stock
        if stock is None or source_uid(unit) != stock.uid:
            await self._clock.sleep(STRAY_PAUSE)  # a stray, which the controller removes
            return await self._records.reread(record)
        if record.status.attempt:
            return await self._take_over(record, command, unit, stock)
        return await self._close(record, unit)

    async def _take_over(
        self, record: Operation, command: CreateUnit, unit: GPUUnit, stock: StockRef
    ) -> Operation:
        """Make the unit of an earlier attempt ours, with what was released when that failed."""
        if (ended := await self._lock(record, command)) is not None:
            return ended
        if await self._claims.claim(record, stock, command.name, None) is None:
            return await self._choose_again(record, command)
        if not await self._units.keep(unit, record.status.attempt):
            return await self._records.reread(record)
        return await self._close(record, unit)

    async def _advance(self, record: Operation, command: CreateUnit, hand: Hand) -> Operation:
        """Lock its storages, claim its stock and make the unit; or name other stock."""
        if (ended := await self._lock(record, command)) is not None:
            return ended
        stock = record.spec.stock
        chosen, hand.chosen = hand.chosen, None
        claim = None
        if stock is not None:
            claim = await self._claims.claim(record, stock, command.name, chosen)
        if stock is None or claim is None:
            return await self._choose_again(record, command)
        record = await self._records.reread(record)
        if record.spec.stock is None or record.spec.stock.uid != stock.uid:
            await self._claims.release(claim)
            return record
        # A record that was closed in the meantime may hold a unit from this very stock.
        return record if is_final(record) else await self._make(record, command, claim, hand)

    async def _lock(self, record: Operation, command: CreateUnit) -> Operation | None:
        """Lock the storages; the record where that ends the operation, or others have ended it."""
        held = await self._locks.take(record, command)
        if held.refusal is not None:
            return await self._fail(record, held.refusal)
        current = await self._records.reread(record) if held.fresh else record
        if has_failed(current):  # else the locks are its unit's
            await self._locks.release(held)
        return current if is_final(current) else None

    async def _choose_again(self, record: Operation, command: CreateUnit) -> Operation:
        """The named stock was seen lost."""
        chosen = None
        if command.stock_name is None:
            chosen = await self._choice.another(command.spec_name)
        if chosen is None:
            shortage = await self._choice.shortage(command.spec_name, command.stock_name)
            return await self._fail(record, shortage)
        named = await self._records.name_stock(record, reference(chosen))
        return named or await self._records.reread(record)

    async def _make(
        self, record: Operation, command: CreateUnit, claim: Claim, hand: Hand
    ) -> Operation:
        try:
            unit = await self._units.create(unit_body(command, claim.stock))
        except kube_errors.TakenError:
            return await self._records.reread(record)  # by us before, or by another: look again
        except (kube_errors.RejectedError, kube_errors.QuotaExceededError) as error:
            # The answer to the same call may have been lost: a quota is asked before the name.
            if await self._units.find(command.name) is not None:
                return await self._records.reread(record)
            return await self._fail(record, service_error(error))
        hand.made = unit
        return await self._close(record, unit)

    async def _close(self, record: Operation, unit: GPUUnit) -> Operation:
        closed = await self._records.update(record, succeeded(unit))
        return closed or await self._records.reread(record)

    async def _fail(self, record: Operation, error: ServiceError) -> Operation:
        """What it claims is released by the controller, which sees that it has failed."""
        status = {"phase": OperationPhase.FAILED.value, "message": failure_text(error)}
        failed = await self._records.update(record, status)
        return failed or await self._records.reread(record)

    async def _refusal(self, command: CreateUnit, taken: GPUUnit | None) -> ServiceError:
        if taken is not None:
            return name_taken(command.name)
        return await self._choice.shortage(command.spec_name, command.stock_name)


def reference(stock: GPUUnit) -> StockRef:
    return StockRef(name=stock.metadata.name, uid=stock.metadata.uid)


def name_taken(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(f"there is a unit {name!r} of another operation; choose another name")


def succeeded(unit: GPUUnit) -> dict[str, Any]:
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
