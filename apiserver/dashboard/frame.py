"""Dashboard frames and heartbeats, and their form as server-sent events (WHATWG HTML, 9.2)."""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import msgspec

from apiserver.dashboard.view import DashboardView
from apiserver.kube import errors as kube_errors
from shared.time import format_timestamp

EVENT_STREAM_MEDIA_TYPE: Final = "text/event-stream"
LAST_EVENT_ID_HEADER: Final = "Last-Event-ID"


@dataclass(frozen=True, slots=True)
class DashboardFrame:
    """The dashboard in JSON, the time of its snapshot (monotonic), and the error since then.

    `digest` is of the content, so that it is the same on every replica.
    """

    body: bytes = b""
    digest: str = ""
    collected_at: float | None = None
    error: str = ""


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A heartbeat: the time, the age of the frame and the current error."""

    now: str
    age_seconds: float | None = None
    trouble: str = ""


def new_frame(view: DashboardView, now: float) -> DashboardFrame:
    """Return the frame of a new view."""
    body = msgspec.json.encode(view)
    return DashboardFrame(body, hashlib.sha256(body).hexdigest()[:16], now)


def stale_frame(frame: DashboardFrame, error: kube_errors.KubeError) -> DashboardFrame:
    """Return the old frame with the error of a failed snapshot."""
    return replace(frame, error=str(error))


def heartbeat(frame: DashboardFrame, now: datetime, monotonic: float) -> Heartbeat:
    """Return the heartbeat of a frame at a time."""
    age = None if frame.collected_at is None else round(monotonic - frame.collected_at, 1)
    return Heartbeat(now=format_timestamp(now), age_seconds=age, trouble=frame.error)


def encode_event(name: str, data: bytes, event_id: str = "") -> bytes:
    """Encode one event; `data` has no line breaks. A client that reconnects sends `event_id`."""
    id_line = f"id: {event_id}\n" if event_id else ""
    return f"{id_line}event: {name}\ndata: ".encode() + data + b"\n\n"


def encode_retry(milliseconds: int) -> bytes:
    """Encode the time after which a disconnected client reconnects."""
    return b"retry: %d\n\n" % milliseconds
