"""Event objects of events.k8s.io/v1: what the server is told about a fact, and how."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, TypeVar

import msgspec

from controller.runtime.client.kind import Kind
from controller.runtime.client.objects import Object, ObjectMeta
from controller.runtime.errors import AlreadyExistsError, ApiError, NotFoundError, StatusError
from controller.runtime.events.series import Fact, Reference, Series
from controller.runtime.key import ObjectKey
from controller.runtime.microtime import micro_time

T = TypeVar("T", bound=Object)

# What the server takes; it counts bytes.
LONGEST_NAME: Final = 253
LONGEST_NOTE: Final = 1024
LONGEST_WORD: Final = 128
SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# Where the Events of objects without a namespace are.
CLUSTER_NAMESPACE: Final = "default"


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An Event as it is read back: that it is there is enough."""

    metadata: ObjectMeta


EVENTS: Final = Kind("events.k8s.io", "v1", "events", "Event", Event)


class Writer(Protocol):
    """The two verbs of a client that events need."""

    async def create(self, kind: Kind[Event], body: Mapping[str, Any]) -> Event:
        """Make a new object."""
        ...

    async def patch(self, kind: Kind[Event], key: ObjectKey, body: Mapping[str, Any]) -> Event:
        """Merge `body` in."""
        ...


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who tells: a controller, and which of its processes."""

    controller: str
    instance: str


async def write(client: Writer, reporter: Reporter, fact: Fact, series: Series) -> int:
    """Write the series, and give how many of its repetitions the server then knows of."""
    if series.written:
        try:
            await client.patch(EVENTS, event_key(fact, series), series_body(series))
        except NotFoundError:
            pass  # events expire: this one is made anew
        else:
            return series.count
    try:
        await client.create(EVENTS, event_body(reporter, fact, series))
    except AlreadyExistsError:
        return 1  # by a try whose answer was lost, perhaps before the event was repeated
    return series.count


def is_expected(error: ApiError) -> bool:
    """Whether the namespace is going or gone, and its events with it."""
    terminating = isinstance(error, StatusError) and "NamespaceTerminating" in error.causes
    return terminating or isinstance(error, NotFoundError)


def reference(kind: Kind[T], subject: T) -> Reference:
    """What an event says of the object it is about."""
    metadata = subject.metadata
    return Reference(
        api_version=kind.api_version,
        kind=kind.name,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
    )


def event_key(fact: Fact, series: Series) -> ObjectKey:
    """Where the Event object is."""
    return ObjectKey(fact.regarding.namespace or CLUSTER_NAMESPACE, series.name)


def event_name(subject: str, unique: str) -> str:
    """A name for an Event about `subject`; some kinds allow names that no Event may have."""
    start = subject[: LONGEST_NAME - len(unique) - 1].rstrip("-.")
    return f"{start if SUBDOMAIN.fullmatch(start) else 'event'}.{unique}"


def event_body(reporter: Reporter, fact: Fact, series: Series) -> dict[str, Any]:
    """The whole Event object, with its repetitions if there were any."""
    key = event_key(fact, series)
    body = {
        "metadata": {"namespace": key.namespace, "name": key.name},
        "eventTime": micro_time(series.first),
        "type": fact.type,
        "reason": fact.reason,
        "action": fact.action,
        "note": fact.note,
        "regarding": reference_body(fact.regarding),
        "reportingController": reporter.controller,
        "reportingInstance": cut(reporter.instance, LONGEST_WORD),
    }
    if fact.related is not None:
        body["related"] = reference_body(fact.related)
    return body if series.count == 1 else body | series_body(series)


def series_body(series: Series) -> dict[str, Any]:
    """The part of an Event that changes when it repeats."""
    return {"series": {"count": series.count, "lastObservedTime": micro_time(series.last)}}


def reference_body(of: Reference) -> dict[str, str]:
    given = {
        "apiVersion": of.api_version,
        "kind": of.kind,
        "namespace": of.namespace,
        "name": of.name,
        "uid": of.uid,
        "resourceVersion": of.resource_version,
    }
    return {name: value for name, value in given.items() if value}


def trimmed(fact: Fact) -> Fact:
    """The fact with no text longer than the server takes."""
    return replace(
        fact,
        reason=cut(fact.reason, LONGEST_WORD),
        action=cut(fact.action, LONGEST_WORD),
        note=cut(fact.note, LONGEST_NOTE),
    )


def cut(text: str, most: int) -> str:
    """As much of `text` as fits into `most` bytes, in whole characters that can be sent."""
    return text.encode(errors="replace")[:most].decode(errors="ignore")
