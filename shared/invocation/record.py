"""The record of one invocation; every transition is a compare-and-set on it."""

from typing import Any

import msgspec

from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.state import FINAL_STATES, InvocationState
from shared.time import UnixMilliseconds


class InvocationBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A body: inline if it is small, otherwise an object in the function's bucket."""

    inline: bytes = b""
    object_name: str = ""
    size: int = 0


class InvocationRequest(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The request of a caller, and the limits at the time of its acceptance.

    A result above `inline_bytes` is stored as an object, because the record must not grow by more.
    """

    content_type: str = "application/octet-stream"
    headers: dict[str, str] = {}
    attributes: dict[str, Any] = {}
    body: InvocationBody = InvocationBody()
    ttl_seconds: int = 3600
    timeout_seconds: int = 300
    max_attempts: int = 3
    inline_bytes: int = DEFAULT_INLINE_BYTES


class InvocationResult(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The result of an invocation: the framework's response, or the reason why there is none."""

    status_code: int = 0
    content_type: str = ""
    headers: dict[str, str] = {}
    body: InvocationBody = InvocationBody()
    error: str = ""
    failure_class: str = ""


class InvocationRecord(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The record of one invocation in the queue's bucket; times are milliseconds since 1970.

    `accepted_at` is the acceptance time of the current run. `sequence` is the message that is
    running. `published` means that the outcome of this run is in the stream of results.
    """

    function_uid: str
    run: int = 1
    hash: str
    accepted_at: UnixMilliseconds
    request: InvocationRequest
    state: InvocationState = InvocationState.QUEUED
    attempts: int = 0
    worker: str = ""
    sequence: int = 0
    started_at: UnixMilliseconds = 0
    finished_at: UnixMilliseconds = 0
    result: InvocationResult | None = None
    published: bool = False

    @property
    def is_final(self) -> bool:
        """Return whether this run has its outcome."""
        return self.state in FINAL_STATES

    @property
    def expires_at(self) -> int:
        """Return when the run must be final, in milliseconds since 1970."""
        return self.accepted_at + self.request.ttl_seconds * 1000


def encode_record(record: InvocationRecord) -> bytes:
    """Encode a record as the bucket holds it."""
    return msgspec.json.encode(record)


def decode_record(value: bytes) -> InvocationRecord:
    """Decode a record; raises msgspec.DecodeError."""
    return msgspec.json.decode(value, type=InvocationRecord)
