"""What a change of a pool's status is worth telling people: pure, and nothing at rest."""

from controller.status.events import StatusEvent
from controller.stockpool.status import ready_message
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.stockpool import StockPoolStatus


def status_event(old: StockPoolStatus, new: StockPoolStatus) -> StatusEvent | None:
    """Every new mistake in the spec, and the beginning of what keeps the pool from being filled.

    That it is full again is no news: every claim would bring it.
    """
    said = ready_message(new)
    if new.phase == PoolPhase.FAILED and ready_message(old) != said:
        return StatusEvent(True, EventReason.INVALID_SPEC, said)
    if new.phase == PoolPhase.DEGRADED and old.phase != new.phase:
        return StatusEvent(True, EventReason.NOT_READY, said)
    return None
