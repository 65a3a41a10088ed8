"""Whether a unit that was made from stock may start: its operation's record alone decides."""

from dataclasses import dataclass
from enum import Enum, auto

from shared.v1alpha1 import wellknown
from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.operation import Operation
from shared.v1alpha1.phases import OperationPhase


class Entry(Enum):
    """What becomes of the unit."""

    ADMITTED = auto()  # the record holds exactly this unit
    ELIGIBLE = auto()  # the record is open, and may be closed with this unit
    STRAY = auto()  # the record belongs to another unit, or to nobody: nobody waits for this one
    LOST = auto()  # the record holds it, but its stock is no longer there to be had


@dataclass(frozen=True, slots=True)
class Admission:
    """The decision, and why."""

    entry: Entry
    why: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The stock that a unit came from, as its annotations tell it."""

    name: str
    uid: str
    operation_id: str


def source_of(unit: GPUUnit) -> Source | None:
    """None for a unit that was made by hand."""
    notes = unit.metadata.annotations
    if wellknown.SOURCE_STOCK_UID not in notes:
        return None
    return Source(
        name=notes.get(wellknown.SOURCE_STOCK_NAME, ""),
        uid=notes[wellknown.SOURCE_STOCK_UID],
        operation_id=notes.get(wellknown.OPERATION_ID, ""),
    )


def is_admitted(unit: GPUUnit) -> bool:
    """Whether the unit was admitted before: once is for ever."""
    return wellknown.ADMITTED in unit.metadata.annotations


def judge(
    unit: GPUUnit, source: Source, record: Operation | None, stock: GPUUnit | None
) -> Admission:
    """Decide by what is known; only an admission may be decided by what a cache knows."""
    holder = None if record is None else recorded_uid(record)
    if record is None:
        return Admission(Entry.STRAY, f"there is no record of operation {source.operation_id!r}")
    if record.status.phase == OperationPhase.FAILED:
        return Admission(Entry.STRAY, f"operation {source.operation_id!r} has failed")
    if record.spec.stock is None or record.spec.stock.uid != source.uid:
        return Admission(Entry.STRAY, f"operation {source.operation_id!r} has other stock")
    if holder is not None and holder != unit.metadata.uid:
        return Admission(Entry.STRAY, f"operation {source.operation_id!r} made another unit")
    if not is_held_for(stock, source):
        return Admission(Entry.LOST, f"stock {source.name} is no longer there for this unit")
    return Admission(Entry.ELIGIBLE if holder is None else Entry.ADMITTED)


def recorded_uid(record: Operation) -> str | None:
    """The uid with which the record was closed; None while it is open."""
    if record.status.phase != OperationPhase.SUCCEEDED:
        return None
    return next((made.uid for made in record.status.objects), "")


def is_held_for(stock: GPUUnit | None, source: Source) -> bool:
    """Whether the stock is there, and claimed by the operation that made the unit."""
    return (
        stock is not None
        and stock.metadata.uid == source.uid
        and stock.metadata.deletion_timestamp is None
        and stock.metadata.annotations.get(wellknown.CLAIM_OPERATION) == source.operation_id
    )
