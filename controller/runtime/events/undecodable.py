"""Reports an object that does not match its model, by an Event about the object."""

from collections.abc import Callable
from typing import Any

from controller.runtime.client.decoding import UndecodableObject
from controller.runtime.client.kind import Kind
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import ObjectReference


def undecodable_event_handler(
    recorder: EventRecorder, kind: Kind[Any], reason: str
) -> Callable[[UndecodableObject], None]:
    """Return a handler for `Informer.set_undecodable_handler` that records a Warning event."""

    def report(undecodable: UndecodableObject) -> None:
        subject = ObjectReference(
            kind.api_version,
            kind.name,
            undecodable.key.namespace,
            undecodable.key.name,
            undecodable.uid,
            undecodable.resource_version,
        )
        recorder.warning(subject, reason, f"this object cannot be decoded: {undecodable.error}")

    return report
