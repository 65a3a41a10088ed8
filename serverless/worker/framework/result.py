"""The results of a framework call."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FrameworkResponse:
    """The framework has responded, with any status."""

    status: int
    content_type: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | bytearray = b""
    is_retryable: bool = False


@dataclass(frozen=True, slots=True)
class NoResponse:
    """The framework was not reachable or did not respond; another attempt may succeed."""

    reason: str


@dataclass(frozen=True, slots=True)
class InvalidResponse:
    """The response is not HTTP, or incomplete."""

    reason: str


@dataclass(frozen=True, slots=True)
class ResponseTooLarge:
    """The response is larger than the limit."""


@dataclass(frozen=True, slots=True)
class DeadlineExceeded:
    """The deadline passed before the response."""


@dataclass(frozen=True, slots=True)
class CallCancelled:
    """The caller has cancelled the invocation."""


@dataclass(frozen=True, slots=True)
class PayloadLost:
    """The framework was not called: the payload no longer exists."""


FrameworkResult = (
    FrameworkResponse
    | NoResponse
    | InvalidResponse
    | ResponseTooLarge
    | DeadlineExceeded
    | CallCancelled
    | PayloadLost
)
