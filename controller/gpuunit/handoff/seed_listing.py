"""Whether a seeded stock unit is the one that its operation's record lists."""

from enum import Enum, auto

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase

FINAL = (OperationPhase.SUCCEEDED.value, OperationPhase.FAILED.value)


class Listing(Enum):
    """Where a seeded unit stands."""

    MARKED = auto()  # nothing left to ask: marked, or not seeded by an operation
    LISTED = auto()  # the record has its uid: to be marked
    OPEN = auto()  # the record may still list it
    STRAY = auto()  # the record has another unit in its place, or will never list it


def judge(stock: GPUUnit, record: Operation | None) -> Listing:
    """Decide by the record; only LISTED and OPEN may be decided by what a cache knows."""
    if is_marked(stock):
        return Listing.MARKED
    if record is None:
        return Listing.STRAY
    uids = {made.uid for made in record.status.objects if is_place_of(made.ordinal, stock)}
    if stock.metadata.uid in uids:
        return Listing.LISTED
    return Listing.STRAY if uids or record.status.phase in FINAL else Listing.OPEN


def is_marked(stock: GPUUnit) -> bool:
    notes = stock.metadata.annotations
    return wellknown.OPERATION_ID not in notes or wellknown.LISTED in notes


def is_place_of(ordinal: int | None, stock: GPUUnit) -> bool:
    return str(ordinal) == stock.metadata.annotations.get(wellknown.STOCK_ORDINAL)
