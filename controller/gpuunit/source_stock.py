"""Stock that a unit was created from."""

from dataclasses import dataclass

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit


@dataclass(frozen=True, slots=True)
class SourceStock:
    """Name and uid of the stock, and the operation that claimed it, from the unit's annotations."""

    name: str
    uid: str
    operation_id: str


def source_stock_of(unit: GPUUnit) -> SourceStock | None:
    """Read the annotations; None for a unit that was not created from stock."""
    annotations = unit.metadata.annotations
    if wellknown.SOURCE_STOCK_UID_ANNOTATION not in annotations:
        return None
    return SourceStock(
        name=annotations.get(wellknown.SOURCE_STOCK_NAME_ANNOTATION, ""),
        uid=annotations[wellknown.SOURCE_STOCK_UID_ANNOTATION],
        operation_id=annotations.get(wellknown.OPERATION_ID_ANNOTATION, ""),
    )


def is_claimed_for(stock: GPUUnit | None, source_stock: SourceStock) -> bool:
    """Return whether the stock exists and is claimed by the operation of the unit."""
    return (
        stock is not None
        and stock.metadata.uid == source_stock.uid
        and stock.metadata.deletion_timestamp is None
        and stock.metadata.annotations.get(wellknown.CLAIM_OPERATION_ANNOTATION)
        == source_stock.operation_id
    )
