"""A message as a stream holds it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

REMOVED: Final = "KV-Operation"


@dataclass(frozen=True, slots=True)
class Stored:
    """One message with its place; `at` is in milliseconds since 1970, by the server's clock."""

    subject: str
    sequence: int
    at: int
    data: bytes
    is_removal: bool = False


def stored(headers: Mapping[str, str], data: bytes) -> Stored:
    """What a direct read has answered."""
    return Stored(
        subject=headers["Nats-Subject"],
        sequence=int(headers["Nats-Sequence"]),
        at=milliseconds(headers["Nats-Time-Stamp"]),
        data=data,
        is_removal=REMOVED in headers,
    )


def milliseconds(text: str) -> int:
    """The server's nanoseconds, cut to what Python can read."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    whole = datetime.fromisoformat(f"{seconds}+00:00")
    return int(whole.timestamp()) * 1000 + int(f"{fraction:0<3}"[:3])
