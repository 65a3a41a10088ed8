"""Requests about invocations, after they were decoded and checked for their form."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.invocation.record import InvocationRecord
from shared.invocation.state import InvocationState


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoke:
    """Call a function; without an id it gets one, without `wait_seconds` it is asynchronous."""

    function_name: str
    invocation_id: str | None = None
    content_type: str = "application/octet-stream"
    headers: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    ttl_seconds: int | None = None
    wait_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Invocation:
    """One invocation as it is now."""

    function_name: str
    invocation_id: str
    record: InvocationRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ListInvocations:
    """A query for one page of invocations; times are for the result store only."""

    function_name: str = ""
    state: InvocationState | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = 100
    continue_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListDeadLetters:
    """A query for one page of dead letters."""

    function_name: str = ""
    limit: int = 100
    continue_token: str = ""
