"""The record of one invocation: the fence that every transition is compared and set on."""

from typing import Any

import msgspec

from shared.invocation.limits import DEFAULT_INLINE_BYTES
from shared.invocation.state import FINAL_STATES, InvocationState
from shared.time import UnixMilliseconds


class InvocationBody(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A payload: here when it is small, otherwise an object of the function's bucket."""

    inline: bytes = b""
    object_name: str = ""
    size: int = 0


class InvocationRequest(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """What a caller asked for, and the limits that held when it was accepted.

    A result above `inline_bytes` is an object: the record must not grow by more.
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
    """What came of an invocation: the framework's answer, or why there is none."""

    status_code: int = 0
    content_type: str = ""
    headers: dict[str, str] = {}
    body: InvocationBody = InvocationBody()
    error: str = ""
    failure_class: str = ""


class InvocationRecord(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One invocation as the queue's bucket keeps it; times are milliseconds since 1970.

    `accepted_at` is when the present run was; `sequence` is the message that is running, and
    `published` says that the outcome of this run is in the stream of results.
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
        """Whether this run has its outcome."""
        return self.state in FINAL_STATES

    @property
    def expires_at(self) -> int:
        """When the run must be final, in milliseconds since 1970."""
        return self.accepted_at + self.request.ttl_seconds * 1000


def encode_record(record: InvocationRecord) -> bytes:
    """The record as the bucket holds it."""
    return msgspec.json.encode(record)


def decode_record(value: bytes) -> InvocationRecord:
    """Read a record, or raise msgspec.DecodeError."""
    return msgspec.json.decode(value, type=InvocationRecord)
