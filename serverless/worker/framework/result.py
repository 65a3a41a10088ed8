"""What became of one call of the framework."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Answer:
    """It has answered, well or not."""

    status: int
    content_type: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | bytearray = b""
    retryable: bool = False


@dataclass(frozen=True, slots=True)
class Gone:
    """It was not there, or went away without a word: another attempt may go well."""

    why: str


@dataclass(frozen=True, slots=True)
class Garbage:
    """It has said something that is not an HTTP answer, or only half of one."""

    why: str


@dataclass(frozen=True, slots=True)
class TooLarge:
    """Its answer is larger than we keep."""


@dataclass(frozen=True, slots=True)
class Late:
    """The deadline came before the answer."""


@dataclass(frozen=True, slots=True)
class Unwanted:
    """The caller has cancelled it meanwhile."""


@dataclass(frozen=True, slots=True)
class BodyLost:
    """It was not called: the payload is no longer there."""


Heard = Answer | Gone | Garbage | TooLarge | Late | Unwanted | BodyLost
