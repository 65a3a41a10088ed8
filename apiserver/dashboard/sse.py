"""Server-sent events, as bytes (WHATWG HTML, 9.2)."""

from typing import Final

EVENT_STREAM_MEDIA_TYPE: Final = "text/event-stream"
LAST_EVENT_ID_HEADER: Final = "Last-Event-ID"


def encode_event(name: str, data: bytes, event_id: str = "") -> bytes:
    """Encode one event; `data` has no line breaks. A client that reconnects sends `event_id`."""
    id_line = f"id: {event_id}\n" if event_id else ""
    return f"{id_line}event: {name}\ndata: ".encode() + data + b"\n\n"


def encode_retry(milliseconds: int) -> bytes:
    """Encode the time after which a disconnected client reconnects."""
    return b"retry: %d\n\n" % milliseconds
