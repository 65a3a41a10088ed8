"""Telling people of an object that no model can hold, where they look: at the object."""

from collections.abc import Callable
from typing import Any

from controller.runtime.client.decoding import UndecodableObject
from controller.runtime.client.kind import Kind
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import ObjectReference


def undecodable_event_handler(
    recorder: EventRecorder, kind: Kind[Any], reason: str
) -> Callable[[UndecodableObject], None]:
    """For `Informer.report_unreadable`: a warning on the object that says what is wrong with it."""

    def report(found: UndecodableObject) -> None:
        subject = ObjectReference(
            kind.api_version,
            kind.name,
            found.key.namespace,
            found.key.name,
            found.uid,
            found.resource_version,
        )
        recorder.warning(subject, reason, f"this object cannot be read: {found.error}")

    return report
