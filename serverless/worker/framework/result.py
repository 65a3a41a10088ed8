"""What became of one call of the framework."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FrameworkResponse:
    """It has answered, well or not."""

    status: int
    content_type: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | bytearray = b""
    is_retryable: bool = False


@dataclass(frozen=True, slots=True)
class NoResponse:
    """It was not there, or went away without a word: another attempt may go well."""

    reason: str


@dataclass(frozen=True, slots=True)
class InvalidResponse:
    """It has said something that is not an HTTP answer, or only half of one."""

    reason: str


@dataclass(frozen=True, slots=True)
class ResponseTooLarge:
    """Its answer is larger than we keep."""


@dataclass(frozen=True, slots=True)
class DeadlineExceeded:
    """The deadline came before the answer."""


@dataclass(frozen=True, slots=True)
class CallCancelled:
    """The caller has cancelled it meanwhile."""


@dataclass(frozen=True, slots=True)
class PayloadLost:
    """It was not called: the payload is no longer there."""


FrameworkResult = (
    FrameworkResponse
    | NoResponse
    | InvalidResponse
    | ResponseTooLarge
    | DeadlineExceeded
    | CallCancelled
    | PayloadLost
)
