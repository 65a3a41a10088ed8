"""A problem with a value in a request or in a spec."""

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

MAX_SHOWN_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class Problem:
    """The field, the given value (None if it is absent or may be a secret), and the reason."""

    path: str
    value: str | None
    message: str

    @property
    def text(self) -> str:
        """Return the problem as one line of text."""
        given = "" if self.value is None else f"{_quote(truncate(self.value))} "
        return f"{self.path}: {given}{self.message}"


def truncate(value: str) -> str:
    """Return the beginning of a value for a message."""
    return value if len(value) <= MAX_SHOWN_LENGTH else f"{value[: MAX_SHOWN_LENGTH - 3]}..."


def repeated_positions(keys: Iterable[Hashable]) -> list[int]:
    """Return the positions of the items that occurred earlier in the list."""
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
