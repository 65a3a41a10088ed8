"""Event objects of events.k8s.io/v1: their content, and their writing."""

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

# The limits of the API, in bytes.
MAX_NAME_BYTES: Final = 253
MAX_NOTE_BYTES: Final = 1024
MAX_FIELD_BYTES: Final = 128
SUBDOMAIN_PATTERN: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
# The namespace of Events about objects without a namespace.
CLUSTER_NAMESPACE: Final = "default"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An Event as the server returns it; only its metadata is read."""

    metadata: ObjectMeta


EVENTS: Final = Kind("events.k8s.io", "v1", "events", "Event", Event)


class EventWriter(Protocol):
    """The two verbs of a client that events need."""

    async def create(self, kind: Kind[Event], body: Mapping[str, Any]) -> Event:
        """Create an Event."""
        ...

    async def patch(self, kind: Kind[Event], key: ObjectKey, body: Mapping[str, Any]) -> Event:
        """Apply a merge patch to an Event."""
        ...


@dataclass(frozen=True, slots=True)
class ReportingController:
    """The controller that reports an event, and the instance of it."""

    controller: str
    instance: str


async def write_event(
    client: EventWriter, reporting: ReportingController, content: EventContent, series: EventSeries
) -> int:
    """Write an event series; return the number of occurrences that the server has then."""
    if series.written_count:
        try:
            await client.patch(EVENTS, event_key(content, series), series_body(series))
        except NotFoundError:
            pass  # events expire: create it again
        else:
            return series.count
    try:
        await client.create(EVENTS, event_body(reporting, content, series))
    except AlreadyExistsError:
        return 1  # by an attempt whose response was lost; repetitions may be missing
    return series.count


def is_namespace_gone(error: KubeError) -> bool:
    """Whether the namespace of the event is terminating or deleted."""
    terminating = isinstance(error, StatusError) and "NamespaceTerminating" in error.causes
    return terminating or isinstance(error, NotFoundError)


def object_reference(kind: Kind[T], subject: T) -> ObjectReference:
    """Return the reference by which an event names `subject`."""
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
    """Return the key of the Event object."""
    return ObjectKey(content.regarding.namespace or CLUSTER_NAMESPACE, series.name)


def event_name(subject_name: str, suffix: str) -> str:
    """Return the name of an Event; some kinds allow object names that an Event may not have."""
    start = subject_name[: MAX_NAME_BYTES - len(suffix) - 1].rstrip("-.")
    return f"{start if SUBDOMAIN_PATTERN.fullmatch(start) else 'event'}.{suffix}"


def event_body(
    reporting: ReportingController, content: EventContent, series: EventSeries
) -> dict[str, Any]:
    """Return the Event object, with its series if the event was repeated."""
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
    """Return the part of an Event that changes with a repetition."""
    return {
        "series": {
            "count": series.count,
            "lastObservedTime": format_micro_time(series.last_observed),
        }
    }


def reference_body(reference: ObjectReference) -> dict[str, str]:
    fields = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "namespace": reference.namespace,
        "name": reference.name,
        "uid": reference.uid,
        "resourceVersion": reference.resource_version,
    }
    return {name: value for name, value in fields.items() if value}


def truncate_texts(content: EventContent) -> EventContent:
    """Return the content with its texts truncated to the limits of the API."""
    return replace(
        content,
        reason=truncate(content.reason, MAX_FIELD_BYTES),
        action=truncate(content.action, MAX_FIELD_BYTES),
        note=truncate(content.note, MAX_NOTE_BYTES),
    )


def truncate(text: str, max_bytes: int) -> str:
    """Truncate `text` to at most `max_bytes` of UTF-8, in whole characters."""
    return text.encode(errors="replace")[:max_bytes].decode(errors="ignore")
