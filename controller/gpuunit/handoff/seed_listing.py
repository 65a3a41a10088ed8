"""Listing of a seeded stock unit by its operation, as pure functions."""

from enum import Enum, auto

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase

FINAL_PHASES = (OperationPhase.SUCCEEDED.value, OperationPhase.FAILED.value)


class SeedListing(Enum):
    """State of a seeded unit."""

    MARKED = auto()  # no decision left: the unit is marked, or no operation seeded it
    LISTED = auto()  # the operation has the unit's uid: the unit is to be marked
    PENDING = auto()  # the operation may still list the unit
    STRAY = auto()  # the operation lists another unit for this ordinal, or will never list this one


def seed_listing(stock: GPUUnit, operation: Operation | None) -> SeedListing:
    """Decide by the operation; only LISTED and PENDING are valid with a cached operation."""
    if is_listing_settled(stock):
        return SeedListing.MARKED
    if operation is None:
        return SeedListing.STRAY
    uids = {item.uid for item in operation.status.objects if is_ordinal_of(item.ordinal, stock)}
    if stock.metadata.uid in uids:
        return SeedListing.LISTED
    return (
        SeedListing.STRAY if uids or operation.status.phase in FINAL_PHASES else SeedListing.PENDING
    )


def is_listing_settled(stock: GPUUnit) -> bool:
    marks = stock.metadata.annotations
    return wellknown.OPERATION_ID_ANNOTATION not in marks or wellknown.LISTED_ANNOTATION in marks


def is_ordinal_of(ordinal: int | None, stock: GPUUnit) -> bool:
    return str(ordinal) == stock.metadata.annotations.get(wellknown.STOCK_ORDINAL_ANNOTATION)
