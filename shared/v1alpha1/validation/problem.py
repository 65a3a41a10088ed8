"""What is wrong with a value that somebody gave."""

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

MAX_SHOWN_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class Problem:
    """The field, what was given (None where nothing was, or where it may be a secret), and why."""

    path: str
    value: str | None
    message: str

    @property
    def text(self) -> str:
        """One line for people."""
        given = "" if self.value is None else f"{_quote(truncate(self.value))} "
        return f"{self.path}: {given}{self.message}"


def truncate(value: str) -> str:
    """As much of a value as is worth reading."""
    return value if len(value) <= MAX_SHOWN_LENGTH else f"{value[: MAX_SHOWN_LENGTH - 3]}..."


def repeated_positions(keys: Iterable[Hashable]) -> list[int]:
    """The places of those that were there before."""
    seen: set[Hashable] = set()
    places = []
    for place, key in enumerate(keys):
        if key in seen:
            places.append(place)
        seen.add(key)
    return places


def _quote(text: str) -> str:
    plain = (
        each if each.isprintable() and each not in '"\\' else json.dumps(each)[1:-1]
        for each in text
    )
    return f'"{"".join(plain)}"'
