"""A problem with a value in a request or in a spec."""

import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

MAX_SHOWN_LENGTH: Final = 80


@dataclass(frozen=True, slots=True)
class Problem:
    """The field, its value (None if it is absent or may be a secret), and the message."""

    path: str
    value: str | None
    message: str

    @property
    def text(self) -> str:
        """Return the problem as one line of text."""
        value = "" if self.value is None else f"{_quote(truncate(self.value))} "
        return f"{self.path}: {value}{self.message}"


def truncate(value: str) -> str:
    """Return the beginning of a value for a message."""
    return value if len(value) <= MAX_SHOWN_LENGTH else f"{value[: MAX_SHOWN_LENGTH - 3]}..."


def repeated_positions(keys: Iterable[Hashable]) -> list[int]:
    """Return the positions of the items that occurred earlier in the list."""
    seen: set[Hashable] = set()
    positions = []
    for position, key in enumerate(keys):
        if key in seen:
            positions.append(position)
        seen.add(key)
    return positions


def _quote(text: str) -> str:
    plain = (
        character
        if character.isprintable() and character not in '"\\'
        else json.dumps(character)[1:-1]
        for character in text
    )
    return f'"{"".join(plain)}"'
