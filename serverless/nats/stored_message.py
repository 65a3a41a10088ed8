"""A message of a stream."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

KV_OPERATION_HEADER: Final = "KV-Operation"


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message; `stored_at` is in milliseconds since 1970 by the server's clock."""

    subject: str
    sequence: int
    stored_at: int
    data: bytes
    is_deletion: bool = False


def parse_stored_message(headers: Mapping[str, str], data: bytes) -> StoredMessage:
    """Return the message of a direct read."""
    return StoredMessage(
        subject=headers["Nats-Subject"],
        sequence=int(headers["Nats-Sequence"]),
        stored_at=parse_server_time_ms(headers["Nats-Time-Stamp"]),
        data=data,
        is_deletion=KV_OPERATION_HEADER in headers,
    )


def parse_server_time_ms(text: str) -> int:
    """Return the milliseconds of a server time, which has nanoseconds that Python cannot parse."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    whole = datetime.fromisoformat(f"{seconds}+00:00")
    return int(whole.timestamp()) * 1000 + int(f"{fraction:0<3}"[:3])
