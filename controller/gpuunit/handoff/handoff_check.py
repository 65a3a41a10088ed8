"""Decision whether a unit from stock may start, by its operation alone."""

from dataclasses import dataclass
from enum import Enum, auto

from controller.gpuunit.source_stock import SourceStock, is_claimed_for
from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase


class HandoffDecision(Enum):
    """Decision about a unit."""

    ADMITTED = auto()  # the operation was completed with this unit
    ELIGIBLE = auto()  # the operation is open and can be completed with this unit
    STRAY = auto()  # the operation is gone, has failed or created another unit
    STOCK_LOST = auto()  # the stock is gone or claimed by another operation


@dataclass(frozen=True, slots=True)
class HandoffCheck:
    """Decision, and the reason for users."""

    decision: HandoffDecision
    message: str = ""


def is_admitted(unit: GPUUnit) -> bool:
    """Return whether the unit was admitted; it then stays admitted."""
    return wellknown.ADMITTED_ANNOTATION in unit.metadata.annotations


def check_handoff(
    unit: GPUUnit, source_stock: SourceStock, operation: Operation | None, stock: GPUUnit | None
) -> HandoffCheck:
    """Decide about the unit; a rejection is valid only with objects read from the server."""
    unit_uid = None if operation is None else created_unit_uid(operation)
    if operation is None:
        return HandoffCheck(
            HandoffDecision.STRAY, f"operation {source_stock.operation_id!r} does not exist"
        )
    if operation.status.phase == OperationPhase.FAILED:
        return HandoffCheck(
            HandoffDecision.STRAY, f"operation {source_stock.operation_id!r} has failed"
        )
    if operation.spec.stock is None or operation.spec.stock.uid != source_stock.uid:
        return HandoffCheck(
            HandoffDecision.STRAY, f"operation {source_stock.operation_id!r} claims other stock"
        )
    if unit_uid is not None and unit_uid != unit.metadata.uid:
        return HandoffCheck(
            HandoffDecision.STRAY, f"operation {source_stock.operation_id!r} created another unit"
        )
    if not is_claimed_for(stock, source_stock):
        return HandoffCheck(
            HandoffDecision.STOCK_LOST,
            f"stock unit {source_stock.name} was deleted or is claimed by another operation",
        )
    return HandoffCheck(HandoffDecision.ELIGIBLE if unit_uid is None else HandoffDecision.ADMITTED)


def created_unit_uid(operation: Operation) -> str | None:
    """Return the uid of the unit that completed the operation; None while it is open."""
    if operation.status.phase != OperationPhase.SUCCEEDED:
        return None
    return next((created.uid for created in operation.status.objects), "")
