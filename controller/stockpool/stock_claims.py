"""Which units are claimed, and how many were consumed: exact, whatever is lost on the way.

A claimed unit's uid is written down before the unit is consumed, so a uid whose unit is gone was
consumed. It is taken off the list in the write that counts it, hence counted once.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.v1alpha1.gpuunit import GPUUnit
from shared.v1alpha1.stock_claim import is_claimed
from shared.v1alpha1.stockpool import StockPoolStatus


@dataclass(frozen=True, slots=True)
class StockClaims:
    """The uids of claimed units, in order, and how many were consumed in total."""

    claimed_uids: tuple[str, ...]
    consumed_count: int


def recorded_claims(status: StockPoolStatus) -> StockClaims:
    """What the pool's status says."""
    return StockClaims(status.claimed, status.allocated)


def count_claims(status: StockPoolStatus, units: Iterable[GPUUnit]) -> StockClaims:
    """What the status must say, given all units of the pool; a released one is not counted."""
    existing = {unit.metadata.uid: is_claimed(unit) for unit in units}
    gone = [uid for uid in status.claimed if uid not in existing]
    claimed = sorted(uid for uid, is_held in existing.items() if is_held)
    return StockClaims(tuple(claimed), status.allocated + len(gone))
