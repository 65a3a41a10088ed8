"""Event objects of events.k8s.io/v1: what the server is told about a fact, and how."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

import msgspec

from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object, ObjectMeta
from controller.runtime.errors import AlreadyExistsError, KubeError, NotFoundError, StatusError
from controller.runtime.events.series import EventContent, EventSeries, ObjectReference
from controller.runtime.key import ObjectKey
from controller.runtime.microtime import format_micro_time

T = TypeVar("T", bound=Object)

# What the server takes; it counts bytes.
MAX_NAME_BYTES: Final = 253
MAX_NOTE_BYTES: Final = 1024
MAX_FIELD_BYTES: Final = 128
SUBDOMAIN_PATTERN: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
# Where the Events of objects without a namespace are.
CLUSTER_NAMESPACE: Final = "default"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An Event as it is read back: that it is there is enough."""

    metadata: ObjectMeta


EVENTS: Final = Kind("events.k8s.io", "v1", "events", "Event", Event)


class EventWriter(Protocol):
    """The two verbs of a client that events need."""

    async def create(self, kind: Kind[Event], body: Mapping[str, Any]) -> Event:
        """Make a new object."""
        ...

    async def patch(self, kind: Kind[Event], key: ObjectKey, body: Mapping[str, Any]) -> Event:
        """Merge `body` in."""
        ...


@dataclass(frozen=True, slots=True)
class ReportingController:
    """Who tells: a controller, and which of its processes."""

    controller: str
    instance: str


async def write_event(
    client: EventWriter, reporting: ReportingController, content: EventContent, series: EventSeries
) -> int:
    """Write the series, and give how many of its repetitions the server then knows of."""
    if series.written_count:
        try:
            await client.patch(EVENTS, event_key(content, series), series_body(series))
        except NotFoundError:
            pass  # events expire: this one is made anew
        else:
            return series.count
    try:
        await client.create(EVENTS, event_body(reporting, content, series))
    except AlreadyExistsError:
        return 1  # by a try whose answer was lost, perhaps before the event was repeated
    return series.count


def is_namespace_gone(error: KubeError) -> bool:
    """Whether the namespace is going or gone, and its events with it."""
    terminating = isinstance(error, StatusError) and "NamespaceTerminating" in error.causes
    return terminating or isinstance(error, NotFoundError)


def object_reference(kind: Kind[T], subject: T) -> ObjectReference:
    """What an event says of the object it is about."""
    metadata = subject.metadata
    return ObjectReference(
        api_version=kind.api_version,
        kind=kind.name,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def event_key(content: EventContent, series: EventSeries) -> ObjectKey:
    """Where the Event object is."""
    return ObjectKey(content.regarding.namespace or CLUSTER_NAMESPACE, series.name)


def event_name(subject_name: str, suffix: str) -> str:
    """A name for an Event about `subject`; some kinds allow names that no Event may have."""
    start = subject_name[: MAX_NAME_BYTES - len(suffix) - 1].rstrip("-.")
    return f"{start if SUBDOMAIN_PATTERN.fullmatch(start) else 'event'}.{suffix}"


def event_body(
    reporting: ReportingController, content: EventContent, series: EventSeries
) -> dict[str, Any]:
    """The whole Event object, with its repetitions if there were any."""
    key = event_key(content, series)
    body = {
        "metadata": {"namespace": key.namespace, "name": key.name},
        "eventTime": format_micro_time(series.first_observed),
        "type": content.type,
        "reason": content.reason,
        "action": content.action,
        "note": content.note,
        "regarding": reference_body(content.regarding),
        "reportingController": reporting.controller,
        "reportingInstance": truncate(reporting.instance, MAX_FIELD_BYTES),
    }
    if content.related is not None:
        body["related"] = reference_body(content.related)
    return body if series.count == 1 else body | series_body(series)


def series_body(series: EventSeries) -> dict[str, Any]:
    """The part of an Event that changes when it repeats."""
    return {
        "series": {
            "count": series.count,
            "lastObservedTime": format_micro_time(series.last_observed),
        }
    }


def reference_body(reference: ObjectReference) -> dict[str, str]:
    given = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "namespace": reference.namespace,
        "name": reference.name,
        "uid": reference.uid,
        "resourceVersion": reference.resource_version,
    }
    return {name: value for name, value in given.items() if value}


def truncate_texts(content: EventContent) -> EventContent:
    """The fact with no text longer than the server takes."""
    return replace(
        content,
        reason=truncate(content.reason, MAX_FIELD_BYTES),
        action=truncate(content.action, MAX_FIELD_BYTES),
        note=truncate(content.note, MAX_NOTE_BYTES),
    )


def truncate(text: str, max_bytes: int) -> str:
    """As much of `text` as fits into `most` bytes, in whole characters that can be sent."""
    return text.encode(errors="replace")[:max_bytes].decode(errors="ignore")
