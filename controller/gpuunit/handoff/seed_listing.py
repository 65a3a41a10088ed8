"""Whether a seeded stock unit is the one that its operation's record lists."""

from enum import Enum, auto

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase

FINAL_PHASES = (OperationPhase.SUCCEEDED.value, OperationPhase.FAILED.value)


class SeedListing(Enum):
    """Where a seeded unit stands."""

    MARKED = auto()  # nothing left to ask: marked, or not seeded by an operation
    LISTED = auto()  # the record has its uid: to be marked
    PENDING = auto()  # the record may still list it
    STRAY = auto()  # the record has another unit in its place, or will never list it


def seed_listing(stock: GPUUnit, operation: Operation | None) -> SeedListing:
    """Decide by the record; only LISTED and OPEN may be decided by what a cache knows."""
    if is_listing_settled(stock):
        return SeedListing.MARKED
    if operation is None:
        return SeedListing.STRAY
    uids = {made.uid for made in operation.status.objects if is_ordinal_of(made.ordinal, stock)}
    if stock.metadata.uid in uids:
        return SeedListing.LISTED
    return (
        SeedListing.STRAY if uids or operation.status.phase in FINAL_PHASES else SeedListing.PENDING
    )


def is_listing_settled(stock: GPUUnit) -> bool:
    notes = stock.metadata.annotations
    return wellknown.OPERATION_ID_ANNOTATION not in notes or wellknown.LISTED_ANNOTATION in notes


def is_ordinal_of(ordinal: int | None, stock: GPUUnit) -> bool:
    return str(ordinal) == stock.metadata.annotations.get(wellknown.STOCK_ORDINAL_ANNOTATION)
