"""Exact counts of claimed and consumed units, also after lost writes and events.

A claimed unit's uid is recorded before the unit is consumed, so a recorded uid without a unit was
consumed. The write that counts the uid also removes it from the list, so it is counted once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stock_claim import is_claimed
from shared.v1alpha1.stockpool import StockPoolStatus


@dataclass(frozen=True, slots=True)
class StockClaims:
    """Uids of claimed units, in order, and the total number of consumed units."""

    claimed_uids: tuple[str, ...]
    consumed_count: int


def recorded_claims(status: StockPoolStatus) -> StockClaims:
    """Return the claimed uids and the count of the pool's status."""
    return StockClaims(status.claimed, status.allocated)


def count_claims(status: StockPoolStatus, units: Iterable[GPUUnit]) -> StockClaims:
    """Return the next claimed uids and count, given all units; a released unit is not counted."""
    existing = {unit.metadata.uid: is_claimed(unit) for unit in units}
    gone = [uid for uid in status.claimed if uid not in existing]
    claimed = sorted(uid for uid, is_claimed_now in existing.items() if is_claimed_now)
    return StockClaims(tuple(claimed), status.allocated + len(gone))
