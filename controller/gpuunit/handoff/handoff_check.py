"""Whether a unit that was made from stock may start: its operation's record alone decides."""

from dataclasses import dataclass
from enum import Enum, auto

from controller.gpuunit.source_stock import SourceStock, is_claimed_for
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
