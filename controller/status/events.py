"""Events about changes of a status."""

from dataclasses import dataclass

from controller.runtime import EventRecorder, ObjectReference
from shared.v1alpha1.reasons import EventReason


@dataclass(frozen=True, slots=True)
class StatusEvent:
    """Event to record."""

    is_warning: bool
    reason: EventReason
    message: str


def record_event(recorder: EventRecorder, regarding: ObjectReference, event: StatusEvent) -> None:
    """Record the Event about the object."""
    record = recorder.warning if event.is_warning else recorder.normal
    record(regarding, event.reason, event.message)
