"""Telling people of an object that no model can hold, where they look: at the object."""

from collections.abc import Callable
from typing import Any

from controller.runtime.client.decoding import Unreadable
from controller.runtime.client.kind import Kind
from controller.runtime.events.recorder import EventRecorder
from controller.runtime.events.series import Reference


def by_event(recorder: EventRecorder, kind: Kind[Any], reason: str) -> Callable[[Unreadable], None]:
    """For `Informer.report_unreadable`: a warning on the object that says what is wrong with it."""

    def report(found: Unreadable) -> None:
        subject = Reference(
            kind.api_version,
            kind.name,
            found.key.namespace,
            found.key.name,
            found.uid,
            found.resource_version,
        )
        recorder.warning(subject, reason, f"this object cannot be read: {found.error}")

    return report
