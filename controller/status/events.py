"""What is told to people in an Event when an object's status changes."""

from dataclasses import dataclass

from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import Reference
from shared.v1alpha1.reasons import EventReason


@dataclass(frozen=True, slots=True)
class Announcement:
    """One Event to be."""

    is_warning: bool
    reason: EventReason
    message: str


def announce(recorder: EventRecorder, about: Reference, news: Announcement) -> None:
    """Tell it of the object."""
    tell = recorder.warning if news.is_warning else recorder.normal
    tell(about, news.reason, news.message)
