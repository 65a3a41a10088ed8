"""Whether a unit that was made from stock may start: its operation's record alone decides."""

from dataclasses import dataclass
from enum import Enum, auto

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase


class HandoffDecision(Enum):
    """What becomes of the unit."""

    ADMITTED = auto()  # the record holds exactly this unit
    ELIGIBLE = auto()  # the record is open, and may be closed with this unit
    STRAY = auto()  # the record belongs to another unit, or to nobody: nobody waits for this one
    STOCK_LOST = auto()  # the record holds it, but its stock is no longer there to be had


@dataclass(frozen=True, slots=True)
class HandoffCheck:
    """The decision, and why."""

    decision: HandoffDecision
    message: str = ""


@dataclass(frozen=True, slots=True)
class SourceStock:
    """The stock that a unit came from, as its annotations tell it."""

    name: str
    uid: str
    operation_id: str


def source_stock_of(unit: GPUUnit) -> SourceStock | None:
    """None for a unit that was made by hand."""
    notes = unit.metadata.annotations
    if wellknown.SOURCE_STOCK_UID_ANNOTATION not in notes:
        return None
    return SourceStock(
        name=notes.get(wellknown.SOURCE_STOCK_NAME_ANNOTATION, ""),
        uid=notes[wellknown.SOURCE_STOCK_UID_ANNOTATION],
        operation_id=notes.get(wellknown.OPERATION_ID_ANNOTATION, ""),
    )


def is_admitted(unit: GPUUnit) -> bool:
    """Whether the unit was admitted before: once is for ever."""
    return wellknown.ADMITTED_ANNOTATION in unit.metadata.annotations


def check_handoff(
    unit: GPUUnit, source_stock: SourceStock, operation: Operation | None, stock: GPUUnit | None
) -> HandoffCheck:
    """Decide by what is known; only an admission may be decided by what a cache knows."""
    holder = None if operation is None else created_unit_uid(operation)
    if operation is None:
        return HandoffCheck(
            HandoffDecision.STRAY, f"there is no record of operation {source_stock.operation_id!r}"
        )
    if operation.status.phase == OperationPhase.FAILED:
        return HandoffCheck(
            HandoffDecision.STRAY, f"operation {source_stock.operation_id!r} has failed"
        )
    if operation.spec.stock is None or operation.spec.stock.uid != source_stock.uid:
        return HandoffCheck(
            HandoffDecision.STRAY, f"operation {source_stock.operation_id!r} has other stock"
        )
    if holder is not None and holder != unit.metadata.uid:
        return HandoffCheck(
            HandoffDecision.STRAY, f"operation {source_stock.operation_id!r} made another unit"
        )
    if not is_claimed_for(stock, source_stock):
        return HandoffCheck(
            HandoffDecision.STOCK_LOST,
            f"stock {source_stock.name} is no longer there for this unit",
        )
    return HandoffCheck(HandoffDecision.ELIGIBLE if holder is None else HandoffDecision.ADMITTED)


def created_unit_uid(operation: Operation) -> str | None:
    """The uid with which the record was closed; None while it is open."""
    if operation.status.phase != OperationPhase.SUCCEEDED:
        return None
    return next((made.uid for made in operation.status.objects), "")


def is_claimed_for(stock: GPUUnit | None, source_stock: SourceStock) -> bool:
    """Whether the stock is there, and claimed by the operation that made the unit."""
    return (
        stock is not None
        and stock.metadata.uid == source_stock.uid
        and stock.metadata.deletion_timestamp is None
        and stock.metadata.annotations.get(wellknown.CLAIM_OPERATION_ANNOTATION)
        == source_stock.operation_id
    )
