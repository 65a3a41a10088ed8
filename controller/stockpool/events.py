"""Events for a change of a pool's status, as pure functions."""

from controller.status.events import StatusEvent
from controller.stockpool.status import ready_message
from shared.v1alpha1.phases import PoolPhase
from shared.v1alpha1.reasons import EventReason
from shared.v1alpha1.stockpool import StockPoolStatus


def status_event(old: StockPoolStatus, new: StockPoolStatus) -> StatusEvent | None:
    """Return an Event for a new error in the spec or a newly degraded pool; else None.

    A pool that is full again records none: each stock claim would cause one.
    """
    message = ready_message(new)
    if new.phase == PoolPhase.FAILED and ready_message(old) != message:
        return StatusEvent(True, EventReason.INVALID_SPEC, message)
    if new.phase == PoolPhase.DEGRADED and old.phase != new.phase:
        return StatusEvent(True, EventReason.NOT_READY, message)
    return None
