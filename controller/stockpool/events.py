"""What a change of a pool's status is worth telling people: pure, and nothing at rest."""

from controller.status.events import Announcement
from controller.stockpool.status import message_of
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.stockpool import StockPoolStatus


def announcement(old: StockPoolStatus, new: StockPoolStatus) -> Announcement | None:
    """Every new mistake in the spec, and the beginning of what keeps the pool from being filled.

    That it is full again is no news: every claim would bring it.
    """
    said = message_of(new)
    if new.phase == PoolPhase.FAILED and message_of(old) != said:
        return Announcement(True, EventReason.INVALID_SPEC, said)
    if new.phase == PoolPhase.DEGRADED and old.phase != new.phase:
        return Announcement(True, EventReason.NOT_READY, said)
    return None
