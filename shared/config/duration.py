"""Durations in the notation of configuration files."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Self

ACCEPTED_FORMAT: Final = "a duration above zero such as 500ms, 1s, 5m, 24h or 1h30m"

_UNIT_SECONDS: Final = {
    "h": Decimal(3600),
    "m": Decimal(60),
    "s": Decimal(1),
    "ms": Decimal("0.001"),
}
_PATTERN: Final = re.compile(
    r"(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?", re.ASCII
)


@dataclass(frozen=True, order=True, slots=True)
class Duration:
    """A positive duration, exact to the millisecond."""

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds > 0:
            raise ValueError(f"{self.seconds} s is not {ACCEPTED_FORMAT}")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `1h30m`; units go from large to small, each at most once."""
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not {ACCEPTED_FORMAT}")
        counts = zip(match.groups(default="0"), _UNIT_SECONDS.values(), strict=True)
        total = sum((Decimal(count) * unit for count, unit in counts), Decimal(0))
        if total == 0:
            raise ValueError(f"{text!r} is not {ACCEPTED_FORMAT}")
        return cls(float(total))

    def __str__(self) -> str:
        milliseconds = round(self.seconds * 1000)
        parts = []
        for unit, seconds in _UNIT_SECONDS.items():
            count, milliseconds = divmod(milliseconds, int(seconds * 1000))
            if count:
                parts.append(f"{count}{unit}")
        return "".join(parts)
