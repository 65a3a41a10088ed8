"""Server-sent events, as bytes (WHATWG HTML, 9.2)."""

from typing import Final

MEDIA_TYPE: Final = "text/event-stream"
LAST_EVENT_ID: Final = "Last-Event-ID"


def event(name: str, data: bytes, mark: str = "") -> bytes:
    """One event; `data` has no line breaks, and a `mark` is what a returning client names."""
    mark_line = f"id: {mark}\n" if mark else ""
    return f"{mark_line}event: {name}\ndata: ".encode() + data + b"\n\n"


def retry(milliseconds: int) -> bytes:
    """After which time a client shall come back that was cut off."""
    return b"retry: %d\n\n" % milliseconds
