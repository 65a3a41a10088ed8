"""Server-sent events, as bytes (WHATWG HTML, 9.2)."""

from typing import Final

EVENT_STREAM_MEDIA_TYPE: Final = "text/event-stream"
LAST_EVENT_ID_HEADER: Final = "Last-Event-ID"


def encode_event(name: str, data: bytes, event_id: str = "") -> bytes:
    """One event; `data` has no line breaks, and a `mark` is what a returning client names."""
    mark_line = f"id: {event_id}\n" if event_id else ""
    return f"{mark_line}event: {name}\ndata: ".encode() + data + b"\n\n"


def encode_retry(milliseconds: int) -> bytes:
    """After which time a client shall come back that was cut off."""
    return b"retry: %d\n\n" % milliseconds
